"""What holds of every named dataset of one graph, whoever publishes it: shown on graphs made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engnn.data import single
from engnn.data.dataset import Graphs
from engnn.data.single import Published, parts_of, single_graph
from engnn.data.source import Arrays, Request
from engnn.data.splits import audit_split, link_leaks
from engnn.errors import InputError

EDGES = np.array([[0, 1, 2, 2, 3, 4, 5, 6, 7, 8], [1, 0, 3, 2, 4, 5, 6, 7, 8, 9]])  # one twice, one self-loop
SIZE = 12  # nodes 10 and 11 have no edge


def nowhere(path: str) -> Path:
    raise AssertionError(f"{path} was opened")


def graph(**more: Any) -> Published:
    rng = np.random.Generator(np.random.Philox(0))
    x = torch.from_numpy(rng.integers(0, 2, (SIZE, 4)).astype(np.float32))
    return Published(**{"num_nodes": SIZE, "edges": EDGES, "x": x, "y": np.arange(SIZE) % 3} | more)


def masks(file: Callable[[str], Path], split: str) -> single.Array:
    """Split `a` deals nodes out in turn (one in four to no part); `b` has train and test the other way round."""
    ordered = [np.arange(SIZE) % 4 == part for part in range(3)]
    return parts_of(*(ordered if split == "a" else ordered[::-1]))


def opened(published: Published, **asked: Any) -> Any:
    source = single_graph(
        "made",
        lambda file: published,
        files=(),
        fixed=("a", "b"),
        read_split=masks,
        source="",
        summary="",
        notes=("made here",),
    )
    return source.load(Request(**{"task": "node", "file": nowhere} | asked))


def pairs(graphs: Graphs) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in graphs.edge_index.T]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30))
def test_the_graph_has_each_pair_in_both_directions_once_and_no_self_loop(entries: list[tuple[int, int]]) -> None:
    dataset = opened(Published(num_nodes=7, edges=np.array(entries).T, y=np.arange(7)))
    expected = {(a, b) for a, b in entries if a != b} | {(b, a) for a, b in entries if a != b}
    assert sorted(pairs(dataset.graphs)) == sorted(expected)
    loops = len({a for a, b in entries if a == b})
    assert dataset.notes[0] == (
        f"{len(expected) // 2} undirected edges, of {len(entries)} published entries; {loops} self-loops left out"
    )


def test_nodes_without_an_edge_are_nodes() -> None:
    assert opened(graph()).graphs.batch().num_nodes == SIZE


def test_features_and_labels_are_as_published_and_classes_are_numbered_or_named() -> None:
    published = graph()
    dataset = opened(published)
    torch.testing.assert_close(dataset.graphs.batch().x, published.x)
    assert dataset.y.tolist() == published.y.tolist()  # type: ignore[union-attr]
    assert dataset.classes == ("0", "1", "2")
    assert opened(graph(classes=("a", "b", "c"))).classes == ("a", "b", "c")
    assert "made here" in dataset.notes


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_coo])
def test_large_features_stay_sparse_and_batch_to_the_same_numbers(
    layout: torch.layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = graph()
    monkeypatch.setattr(single, "DENSE_BYTES", 0 if layout == torch.sparse_coo else 1 << 20)
    graphs = opened(published).graphs
    assert graphs.x.layout == layout
    assert graphs.in_channels == 4
    torch.testing.assert_close(graphs.batch().x, published.x)


def test_sparse_features_of_several_graphs_are_picked_as_dense_ones_are() -> None:
    x = torch.arange(10.0).reshape(5, 2)
    sizes, no_edges = torch.tensor([2, 1, 2]), torch.zeros(2, 0, dtype=torch.int64)
    dense, sparse = (Graphs(sizes, torch.zeros(3, dtype=torch.int64), no_edges, x=form) for form in (x, x.to_sparse()))
    for chosen in ([2, 0], [1], [0, 1, 2]):
        ids = torch.tensor(chosen)
        torch.testing.assert_close(sparse.batch(ids).x, dense.batch(ids).x)


def test_the_random_split_deals_60_20_20_of_all_nodes_by_seed() -> None:
    dataset = opened(graph(), seed=3)
    audit_split(dataset)
    assert {part: len(ids) for part, ids in dataset.split.items()} == {"train": 7, "valid": 3, "test": 2}
    assert sorted(torch.cat(list(dataset.split.values())).tolist()) == list(range(SIZE))
    assert dataset.split["train"].tolist() == opened(graph(), seed=3).split["train"].tolist()
    assert any(dataset.split["train"].tolist() != opened(graph(), seed=s).split["train"].tolist() for s in range(5))


def test_a_fixed_split_is_its_masks_whatever_the_seed() -> None:
    for seed in (0, 1):
        dataset = opened(graph(), split="b", seed=seed)
        assert dataset.split_name == "b"
        assert dataset.split["train"].tolist() == [2, 6, 10]
        assert dataset.split["test"].tolist() == [0, 4, 8]
    assert opened(graph(), split="a").split["train"].tolist() == [0, 4, 8]


def test_only_the_files_that_a_split_needs_are_opened() -> None:
    def read_split(file: Callable[[str], Path], split: str) -> single.Array:
        file(split)
        return masks(file, split)

    source = single_graph(
        "made", lambda file: graph(), files=(), fixed=("a", "b"), read_split=read_split, source="", summary=""
    )
    assert source.load(Request(task="node", split="random", file=nowhere)).split_name == "random"
    with pytest.raises(AssertionError, match="b was opened"):
        source.load(Request(task="node", split="b", file=nowhere))


def test_the_link_task_hides_valid_and_test_edges_from_the_graph() -> None:
    dataset = opened(graph(), task="link", seed=1)
    assert (dataset.task, dataset.metric, dataset.y, dataset.split_name) == ("link", "hits@100", None, "random")
    assert link_leaks(dataset) == ()
    links = dataset.links
    assert [part.size(1) for part in (links.train, links.valid, links.test)] == [5, 1, 2]
    kept = {tuple(sorted(pair)) for pair in pairs(dataset.graphs)}
    assert kept == {(int(a), int(b)) for a, b in links.train.T}
    everything = {(int(a), int(b)) for part in (links.train, links.valid, links.test) for a, b in part.T}
    assert everything == {tuple(sorted(pair)) for pair in pairs(opened(graph()).graphs)}
    torch.testing.assert_close(dataset.graphs.batch().x, graph().x)


def test_a_split_of_nodes_is_refused_for_links_by_name() -> None:
    with pytest.raises(InputError, match=r"made: split 'a' is of nodes, not of links"):
        opened(graph(), task="link", split="a")


def test_a_cached_dataset_opens_without_its_files() -> None:
    kept: dict[str, Arrays] = {}

    def cached(key: str, build: Callable[[], Arrays]) -> Arrays:
        return kept.setdefault(key, {}) or kept.update({key: build()}) or kept[key]

    def read(file: Callable[[str], Path]) -> Published:
        file("raw")
        return graph()

    source = single_graph("made", read, files=(), source="", summary="")
    first = source.load(Request(task="node", file=Path, cached=cached))
    again = source.load(Request(task="link", file=nowhere, cached=cached))
    torch.testing.assert_close(again.graphs.x, first.graphs.x)
    with pytest.raises(AssertionError, match="raw was opened"):
        source.load(Request(task="node", file=nowhere))

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engnn.data.dataset import PARTS, Dataset
from engnn.data.files import MissingFile
from engnn.data.source import Request
from engnn.data.sources import counting
from engnn.data.sources.counting import SOURCES, counting_graphs, random_graph, random_graphs
from engnn.data.splits import undirected
from engnn.errors import InputError

SOURCE = {source.name: source for source in SOURCES}
DEGREE = {10: 6, 15: 6, 20: 5, 30: 5}
# standard deviation over the nodes of the 2,500 train and valid graphs, as published beside the files
STD = (1.1715, 3.0478, 7.6137, 17.1356, 2.4642, 0.9723, 0.1723, 36.9943, 2.2969)


@pytest.fixture
def published(open_or_skip: Callable[..., Dataset]) -> Dataset:
    dataset = open_or_skip("counting")
    if dataset.provenance != "original":
        pytest.skip("data: counting is not here")
    return dataset


@pytest.fixture
def generated(open_or_skip: Callable[..., Dataset]) -> Dataset:
    return open_or_skip("counting-generated")


def of_graph(dataset: Dataset) -> torch.Tensor:
    """The graph of each node."""
    return torch.repeat_interleave(torch.arange(len(dataset.graphs)), dataset.graphs.num_nodes)


def degrees(dataset: Dataset) -> torch.Tensor:
    return torch.bincount(dataset.graphs.batch().edge_index[0], minlength=int(dataset.graphs.node_ptr[-1]))


def test_the_published_graphs_have_the_published_statistics(published: Dataset) -> None:
    graphs = published.graphs
    assert published.provenance == "original"
    assert len(graphs) == 5000
    assert int(graphs.num_nodes.sum()) == 94_000
    assert int(graphs.num_edges.sum()) == 2 * 156_695
    assert torch.bincount(graphs.num_nodes)[[10, 15, 20, 30]].tolist() == [1228, 1274, 1233, 1265]


def test_the_split_is_of_whole_graphs(published: Dataset) -> None:
    owner = of_graph(published)
    parts = [owner[published.split[part]].unique() for part in PARTS]
    assert [len(part) for part in parts] == [1500, 1000, 2500]
    assert len(torch.cat(parts).unique()) == 5000
    assert sum(len(published.split[part]) for part in PARTS) == 94_000


def test_errors_are_told_in_the_published_units(published: Dataset) -> None:
    assert published.y is not None
    assert published.y_scale is not None
    mean, std = published.y_scale
    assert std.tolist() == pytest.approx(STD, abs=5e-5)
    known = torch.cat([published.split["train"], published.split["valid"]])
    scaled = (published.y[known] - mean) / std
    assert scaled.mean(0).abs().max() < 1e-4
    assert scaled.std(0).tolist() == pytest.approx([1.0] * 9, abs=1e-4)


def test_one_target_is_a_column_of_all_nine(open_or_skip: Callable[..., Dataset], published: Dataset) -> None:
    one = open_or_skip("counting:6-cycle")
    assert one.name == "counting:6-cycle"
    assert one.outputs == ("6-cycle",)
    assert one.y is not None
    assert published.y is not None
    assert torch.equal(one.y[:, 0], published.y[:, 3])
    assert one.y_scale is not None
    assert [float(scale) for scale in one.y_scale] == pytest.approx([13.194, 17.1356], abs=1e-3)


def test_a_generated_graph_is_simple_and_of_the_recipe_s_shape(generated: Dataset) -> None:
    graphs = generated.graphs
    assert generated.provenance == "generated"
    assert set(graphs.num_nodes.tolist()) == set(DEGREE)
    whole = graphs.batch().edge_index
    assert 2 * undirected(int(graphs.node_ptr[-1]), whole).size(1) == whole.size(1)  # no loop, no edge twice
    degree, owner = degrees(generated), of_graph(generated)
    for nodes, regular in DEGREE.items():
        own = graphs.num_nodes == nodes
        assert (graphs.num_edges[own] == 2 * (nodes * regular // 2 - nodes)).all()
        assert int(degree[own[owner]].max()) == regular


def test_generated_sizes_are_equally_likely(generated: Dataset) -> None:
    share = torch.bincount(generated.graphs.num_nodes)[list(DEGREE)] / 5000
    assert (share - 0.25).abs().max() < 4 * (0.25 * 0.75 / 5000) ** 0.5  # four standard errors


def test_generated_counts_are_those_of_the_published_graphs_in_the_mean(generated: Dataset, published: Dataset) -> None:
    """By number of nodes; the distance of two means over graphs is below five of its standard errors."""
    means = []
    for dataset in (generated, published):
        assert dataset.y is not None
        sums = torch.zeros(5000, 9).index_add_(0, of_graph(dataset), dataset.y)
        means.append(sums / dataset.graphs.num_nodes[:, None])
    for nodes in DEGREE:
        ours, theirs = (
            mean[dataset.graphs.num_nodes == nodes] for mean, dataset in zip(means, (generated, published), strict=True)
        )
        error = (ours.var(0) / len(ours) + theirs.var(0) / len(theirs)).sqrt()
        assert ((ours.mean(0) - theirs.mean(0)).abs() < 5 * error + 1e-12).all()


def test_a_seed_draws_the_same_graphs_on_every_machine() -> None:
    graphs = random_graphs(50, seed=7)
    digest = hashlib.sha256(graphs.num_nodes.numpy().tobytes() + graphs.edge_index.numpy().tobytes()).hexdigest()
    assert digest == "8b6ff6680745d57d511223a53bf9eeded99817469a950beb1b4ef0149eba9dda"


def test_a_graph_does_not_depend_on_how_many_are_drawn() -> None:
    few, many = random_graphs(3, seed=1), random_graphs(6, seed=1)
    assert torch.equal(many.batch(torch.arange(3)).edge_index, few.batch().edge_index)


def test_other_seeds_and_numbers_draw_other_graphs() -> None:
    drawn = {random_graph(seed, number)[1].tobytes() for seed in range(5) for number in range(5)}
    assert len(drawn) == 25


def test_as_many_graphs_as_wanted_are_dealt_out_in_order() -> None:
    dataset = counting_graphs(5, 2, 3, seed=4, patterns=["3-cycle", "4-path"])
    assert dataset.outputs == ("3-cycle", "4-path")
    owner = of_graph(dataset)
    dealt = {part: owner[dataset.split[part]].unique().tolist() for part in PARTS}
    assert dealt == {"train": [0, 1, 2, 3, 4], "valid": [5, 6], "test": [7, 8, 9]}


def test_a_target_that_never_varies_keeps_its_unit() -> None:
    dataset = counting_graphs(1, 0, 1, seed=0, patterns=["4-clique"])
    assert dataset.y_scale is not None
    assert [scale.tolist() for scale in dataset.y_scale] == [[0.0], [1.0]]


def test_without_its_files_counting_is_generated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SIZES", (3, 1, 1))

    def absent(path: str) -> Path:
        raise MissingFile(f"{path} is not here")

    dataset = SOURCE["counting"].load(Request(task="node", file=absent, option="3-cycle"))
    assert dataset.name == "counting:3-cycle"
    assert dataset.provenance == "generated"
    assert dataset.source == "drawn by engnn"
    assert len(dataset.graphs) == 5
    assert dataset.notes[0].startswith("THESE ARE NOT THE PUBLISHED GRAPHS")


def test_a_damaged_file_is_told_not_replaced() -> None:
    def damaged(path: str) -> Path:
        raise InputError(f"{path} is damaged")

    with pytest.raises(InputError, match="is damaged"):
        SOURCE["counting"].load(Request(task="node", file=damaged))


def test_splits_of_fewer_and_of_more_graphs_differ_in_what_is_learnt_from_alone(
    open_or_skip: Callable[..., Dataset],
) -> None:
    fixed = open_or_skip("counting-generated:3-cycle")
    graphs = {"fixed": of_graph(fixed)[fixed.split["train"]].unique().tolist()}
    for size in (50, 3000):
        other = open_or_skip("counting-generated:3-cycle", split=f"train-{size}")
        assert other.y_scale == fixed.y_scale
        for part in ("valid", "test"):
            assert torch.equal(other.split[part], fixed.split[part])
        graphs[size] = of_graph(other)[other.split["train"]].unique().tolist()
        assert len(graphs[size]) == size
        assert torch.equal(other.graphs.num_nodes[: len(fixed.graphs)], fixed.graphs.num_nodes)
    assert set(graphs[50]) < set(graphs["fixed"]) < set(graphs[3000])

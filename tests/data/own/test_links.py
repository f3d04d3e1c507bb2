"""Links of the user's own: what is held out is in no message, given negatives are kept, and nothing is in two parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engnn.data import own
from engnn.data.dataset import Dataset, Links
from engnn.data.own import from_frames
from engnn.data.splits import link_leaks
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]

NODES = "id\n" + "".join(f"{name}\n" for name in "abcdefghij")
RING = "source,target\n" + "".join(f"{a},{b}\n" for a, b in zip("abcdefghij", "bcdefghija", strict=True))


def read(write: Write, links: str | None = None, *, seed: int = 0) -> tuple[Dataset, Links]:
    files = {"nodes.csv": NODES, "edges.csv": RING} | ({} if links is None else {"links.csv": links})
    dataset = own.read(write(files), task="link", seed=seed)
    assert dataset.links is not None
    assert link_leaks(dataset) == ()
    return dataset, dataset.links


def named(dataset: Dataset, pairs: Tensor) -> set[str]:
    return {"".join(sorted(dataset.node_ids[end] for end in pair)) for pair in pairs.T.tolist()}


def test_without_a_table_the_edges_are_dealt_out_and_those_held_out_leave_the_graph(write: Write) -> None:
    dataset, links = read(write)
    parts = [named(dataset, pairs) for pairs in (links.train, links.valid, links.test)]
    assert [len(part) for part in parts] == [7, 1, 2]
    assert set.union(*parts) == {"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "aj"}
    assert named(dataset, dataset.graphs.edge_index) == parts[0]
    assert (links.valid_negatives.size(1), links.test_negatives.size(1)) == (1, 2)
    assert dataset.metric == "roc_auc"


def test_the_same_seed_deals_the_same_links_and_another_others(write: Write) -> None:
    (_, one), (_, again), (_, other) = (read(write, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one.test, again.test)
    assert torch.equal(one.test_negatives, again.test_negatives)
    assert not torch.equal(one.test, other.test)


def test_a_table_with_a_split_is_taken_by_its_word(write: Write) -> None:
    table = "source,target,label,split\na,b,1,test\nc,b,1,valid\na,e,1,train\na,f,0,test\na,g,0,test\nb,g,0,val\n"
    dataset, links = read(write, table)
    assert (named(dataset, links.test), named(dataset, links.valid)) == ({"ab"}, {"bc"})
    assert named(dataset, links.test_negatives) == {"af", "ag"}
    assert named(dataset, links.valid_negatives) == {"bg"}
    kept = {"cd", "de", "ef", "fg", "gh", "hi", "ij", "aj"}
    assert named(dataset, dataset.graphs.edge_index) == kept
    assert named(dataset, links.train) == kept | {"ae"}  # learnt, and yet no edge to send messages over
    assert dataset.split_name == "own"
    assert "2 held-out link(s) taken out of the graph" in dataset.notes


def test_negatives_are_drawn_where_a_part_has_none(write: Write) -> None:
    dataset, links = read(write, "source,target,label,split\na,b,1,test\nb,c,1,valid\na,f,0,test\n")
    assert named(dataset, links.test_negatives) == {"af"}
    assert links.valid_negatives.size(1) == 1
    assert "one negative drawn with seed 0 for each link of: valid" in dataset.notes


def test_negatives_to_train_on_are_not_used_and_that_is_said(write: Write) -> None:
    dataset, _ = read(write, "source,target,label,split\na,b,1,test\nb,c,1,valid\na,f,0,train\n")
    assert any(note.startswith("1 training link(s) with label 0 not used") for note in dataset.notes)


def test_without_a_split_the_tables_links_are_dealt_out_and_all_other_edges_are_trained_on(write: Write) -> None:
    table = "source,target\n" + "".join(f"{a},{b}\n" for a, b in zip("abcde", "fghij", strict=True))
    dataset, links = read(write, table)
    held_out = named(dataset, links.valid) | named(dataset, links.test)
    assert len(held_out) == 2
    assert held_out < {"af", "bg", "ch", "di", "ej"}
    assert named(dataset, links.train) == named(dataset, dataset.graphs.edge_index) | (
        {"af", "bg", "ch", "di", "ej"} - held_out
    )
    assert dataset.split_name == "random"


def test_given_negatives_without_a_split_are_for_valid_and_test(write: Write) -> None:
    no = {"ad", "be", "cf", "dg", "eh", "fi"}
    rows = [*(f"{pair[0]},{pair[1]},0" for pair in sorted(no)), "a,c,1", "b,d,1", "c,e,1", "d,f,1"]
    dataset, links = read(write, "source,target,label\n" + "\n".join(rows) + "\n")
    valid, test = named(dataset, links.valid_negatives), named(dataset, links.test_negatives)
    assert (len(valid), len(test)) == (2, 4)
    assert valid | test == no


def test_a_link_given_twice_or_in_both_directions_is_one(write: Write) -> None:
    dataset, links = read(write, "source,target,split\na,b,test\nb,a,test\nc,d,valid\na,b,test\n")
    assert named(dataset, links.test) == {"ab"}
    assert links.test.size(1) == 1
    assert "2 repeated link(s) merged" in dataset.notes


PAIRS = [(a, b) for a in range(7) for b in range(a)]


@given(st.data())
def test_no_table_of_links_leaks_whatever_it_holds(data: st.DataObject) -> None:
    edges = data.draw(st.lists(st.sampled_from(PAIRS), min_size=3, unique=True))
    pairs = data.draw(st.lists(st.sampled_from(PAIRS), min_size=3, unique=True))
    columns: dict[str, list[object]] = {
        "source": [pair[flip] for pair, flip in zip(pairs, data.draw(flips(len(pairs))), strict=True)],
    }
    columns["target"] = [sum(pair) - end for pair, end in zip(pairs, columns["source"], strict=True)]  # type: ignore[operator]
    if data.draw(st.booleans()):
        columns["label"] = [int(pair in edges or data.draw(st.booleans())) for pair in pairs]
    if data.draw(st.booleans()):
        columns["split"] = [data.draw(st.sampled_from(["train", "valid", "test"])) for _ in pairs]
    frame = pd.DataFrame({"source": [a for a, _ in edges], "target": [b for _, b in edges]})
    nodes = pd.DataFrame({"id": range(7)})
    dataset, refusal = None, ""
    try:
        dataset = from_frames(frame, nodes, links=pd.DataFrame(columns), task="link")
    except InputError as error:
        refusal = str(error)
    if dataset is None:  # too few links, or too few pairs without one
        assert any(said in refusal for said in ("there is no link", "too few links", "negatives are needed")), refusal
        return
    assert link_leaks(dataset) == ()
    links = dataset.links
    assert links is not None
    held_out = {frozenset(pair) for part in (links.valid, links.test) for pair in part.T.tolist()}
    graph = {frozenset(pair) for pair in dataset.graphs.edge_index.T.tolist()}
    assert graph == {frozenset(pair) for pair in edges} - held_out


def flips(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 1), min_size=count, max_size=count)


@pytest.mark.parametrize("given_label", [True, False])
def test_a_trained_model_is_asked_about_each_pair_of_the_table_in_its_order(write: Write, given_label: bool) -> None:
    scheme = read(write)[0].scheme
    table = "source,target,label\na,c,1\nc,a,0\nb,a,1\n" if given_label else "source,target\na,c\nc,a\nb,a\n"
    folder = write({"edges.csv": RING, "nodes.csv": NODES, "links.csv": table})
    dataset = own.read(folder, scheme=scheme)
    assert dataset.links is None
    assert dataset.members is not None
    assert dataset.members.nodes.tolist() == [0, 2, 2, 0, 1, 0]
    assert dataset.members.ptr.tolist() == [0, 2, 4, 6]
    assert dataset.graphs.edge_index.size(1) == 20  # nothing is held out

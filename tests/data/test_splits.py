"""Splits are a pure function of the seed, leave nothing out, and leak nothing; and what does leak is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch import Tensor

from engnn.data.dataset import Dataset, Graphs, Links, Members
from engnn.data.splits import (
    audit_links,
    audit_split,
    link_leaks,
    link_split,
    non_edges,
    random_split,
    split_digest,
    split_parts,
    undirected,
)
from engnn.errors import InputError

SEEDS = st.integers(0, 2**64 - 1)


def pairs(of: Tensor) -> set[frozenset[int]]:
    """Unordered pairs, of which no two are the same."""
    listed = [frozenset(pair) for pair in of.T.tolist()]
    assert len(set(listed)) == len(listed)
    return set(listed)


def lists(split: dict[str, Tensor]) -> list[list[int]]:
    return [split[part].tolist() for part in ("train", "valid", "test")]


RING = torch.stack([torch.arange(10), torch.arange(1, 11) % 10])


def test_the_same_seed_deals_the_same_targets_on_every_machine() -> None:
    split, notes = random_split(12, seed=7)
    assert lists(split) == [[1, 2, 3, 4, 6, 8, 11], [5, 7, 9], [0, 10]]
    assert notes == ("random split with seed 7: 60/20/20 of 12 targets",)
    split, _ = random_split(torch.tensor([5, 10, 15, 20, 25]), seed=2**64 - 1)
    assert lists(split) == [[5, 15, 25], [20], [10]]
    split, _ = random_split(12, seed=7, labels=torch.tensor([0] * 5 + [1] * 5 + [2] * 2))
    assert lists(split) == [[1, 3, 4, 6, 7, 8, 11], [2, 5], [0, 9, 10]]


@pytest.mark.parametrize(
    ("nodes", "for_valid", "for_test"),
    [(10, [[5], [9]], [[6, 4], [8, 7]]), (1000, [[593], [962]], [[401, 320], [951, 331]])],  # listed, and drawn
)
def test_the_same_seed_deals_the_same_links_on_every_machine(
    nodes: int, for_valid: list[list[int]], for_test: list[list[int]]
) -> None:
    links = link_split(nodes, RING, seed=3)
    assert links.train.tolist() == [[2, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8, 9]]
    assert links.valid.tolist() == [[0], [1]]
    assert links.test.tolist() == [[0, 1], [9, 2]]
    assert links.valid_negatives.tolist() == for_valid
    assert links.test_negatives.tolist() == for_test


@given(st.integers(3, 300), SEEDS)
def test_every_target_is_dealt_out_once_and_no_part_is_empty(count: int, seed: int) -> None:
    split, _ = random_split(count, seed=seed)
    assert torch.cat(list(split.values())).sort().values.tolist() == list(range(count))
    assert all(len(part) for part in split.values())
    if count >= 5:
        assert all(
            abs(len(part) - share * count) < 1 for part, share in zip(split.values(), (0.6, 0.2, 0.2), strict=True)
        )


@pytest.mark.parametrize(
    ("count", "fractions", "sizes"),
    [
        (3, (0.6, 0.2, 0.2), [1, 1, 1]),
        (4, (0.6, 0.2, 0.2), [2, 1, 1]),
        (7, (0.6, 0.2, 0.2), [4, 2, 1]),
        (10, (0.7, 0.1, 0.2), [7, 1, 2]),
        (10, (0.98, 0.01, 0.01), [8, 1, 1]),
        (1000, (0.48, 0.32, 0.2), [480, 320, 200]),
    ],
)
def test_sizes_are_by_largest_remainder_and_never_nothing(
    count: int, fractions: tuple[float, float, float], sizes: list[int]
) -> None:
    split, _ = random_split(count, fractions, seed=0)
    assert [len(part) for part in split.values()] == sizes


def test_another_seed_deals_otherwise_and_every_target_gets_everywhere() -> None:
    splits = [random_split(20, seed=seed)[0] for seed in range(200)]
    assert len({str(lists(split)) for split in splits}) == 200
    times = torch.stack([torch.bincount(split["test"], minlength=20) for split in splits]).sum(0)
    assert times.min() > 15  # of 40 expected; below it once in a million
    assert times.max() < 70


@given(st.lists(st.integers(0, 3), min_size=10, max_size=120), SEEDS)
def test_each_class_is_dealt_out_by_itself(classes: list[int], seed: int) -> None:
    labels = torch.tensor(classes)
    counts = torch.bincount(labels)
    if counts.max() < 3:
        return
    split, notes = random_split(len(labels), seed=seed, labels=labels)
    assert torch.cat(list(split.values())).sort().values.tolist() == list(range(len(labels)))
    tiny = 0
    for kind in labels.unique().tolist():
        train, valid, test = (int((labels[part] == kind).sum()) for part in split.values())
        if counts[kind] < 3:
            tiny += 1
            assert (train, valid, test) == (1, 0, int(counts[kind]) - 1)
            assert sum(f"class {kind} has only {counts[kind]}" in note for note in notes) == 1
        else:
            assert min(train, valid, test) >= 1
            assert abs(train - 0.6 * counts[kind]) <= 1
    assert len(notes) == 1 + tiny


def test_ids_are_dealt_out_rather_than_places() -> None:
    ids = torch.tensor([100, 7, 55, 3])
    split, _ = random_split(ids, seed=1, labels=torch.tensor([0, 0, 0, 0]))
    assert torch.cat(list(split.values())).sort().values.tolist() == [3, 7, 55, 100]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: random_split(2, seed=0), "at least 3"),
        (lambda: random_split(9, (0.5, 0.5, 0.5), seed=0), "add up to 1"),
        (lambda: random_split(9, (1.0, 0.0, 0.0), seed=0), "above 0"),
        (lambda: random_split(9, (1.2, -0.1, -0.1), seed=0), "above 0"),
        (lambda: random_split(9, seed=-1), "seed -1"),
        (lambda: random_split(9, seed=2**64), "seed"),
        (lambda: random_split(9, seed=0, labels=torch.zeros(8)), "do not fit 9"),
        (lambda: random_split(4, seed=0, labels=torch.arange(4)), "no class has enough"),
        (lambda: link_split(5, RING[:, :0], seed=0), "0 edges"),
        (lambda: link_split(5, torch.tensor([[0, 1, 1], [1, 0, 1]]), seed=0), "1 edges"),
        (lambda: link_split(5, RING, seed=0), "node 5, but nodes are numbered 0 to 4"),
        (lambda: link_split(10, -RING, seed=0), "node -1"),
        (lambda: link_split(10, RING, seed=0, negatives=0), "negatives=0"),
        (lambda: link_split(10, RING, seed=0, negatives=float("nan")), "negatives=nan"),
    ],
)
def test_what_cannot_be_split_is_one_error(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()


def test_both_directions_repeats_and_loops_are_one_edge_or_none() -> None:
    edges = torch.tensor([[1, 0, 2, 2, 4, 1, 3, 3], [0, 1, 2, 1, 3, 2, 4, 0]])
    assert undirected(5, edges).tolist() == [[0, 0, 1, 3], [1, 3, 2, 4]]
    assert undirected(5, edges[:, :0]).shape == (2, 0)


graphs = st.integers(4, 30).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.sets(st.sampled_from(list(combinations(range(nodes), 2))), min_size=3, max_size=nodes * (nodes - 1) // 4),
    )
)


@settings(deadline=None)
@given(graphs, SEEDS, st.sampled_from([0.5, 1.0]))
def test_links_are_dealt_out_once_and_negatives_are_none_of_them(
    graph: tuple[int, set[tuple[int, int]]], seed: int, negatives: float
) -> None:
    nodes, edges = graph
    links = link_split(nodes, torch.tensor(sorted(edges)).T, seed=seed, negatives=negatives)
    parts = [pairs(part) for part in (links.train, links.valid, links.test)]
    assert set().union(*parts) == set(map(frozenset, edges))
    assert sum(map(len, parts)) == len(edges)
    drawn = [pairs(part) for part in (links.valid_negatives, links.test_negatives)]
    assert not drawn[0] & drawn[1]
    for negative, part in zip(drawn, parts[1:], strict=True):
        assert len(negative) == -int(-negatives * len(part) // 1)
        assert not negative & set(map(frozenset, edges))
        assert all(len(pair) == 2 for pair in negative)
    assert link_leaks(linked(nodes, links)) == ()


@pytest.mark.parametrize("nodes", [7, 40])  # listed, and drawn
def test_every_non_edge_is_drawn_as_often_as_every_other(nodes: int) -> None:
    edges = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    free = nodes * (nodes - 1) // 2 - (nodes - 1)
    wanted, seeds = 5, 60 * free // 5
    times = torch.zeros(nodes, nodes)
    for seed in range(seeds):
        drawn = non_edges(nodes, edges, wanted, seed=seed)
        times[drawn[0], drawn[1]] += 1
    seen = times[times > 0]
    assert len(seen) == free
    chi_square = ((seen - 60) ** 2 / 60).sum() / (1 - wanted / free)
    assert abs(chi_square - free) < 5 * (2 * free) ** 0.5


def test_a_complete_graph_has_no_negatives_and_says_so() -> None:
    complete = torch.triu_indices(6, 6, 1)
    with pytest.raises(InputError, match="complete"):
        link_split(6, complete, seed=0)
    all_but_two = complete[:, 2:]
    with pytest.raises(InputError, match="only 2 of the 15"):
        link_split(6, all_but_two, seed=0)
    assert link_split(6, all_but_two, (0.8, 0.1, 0.1), seed=0).test_negatives.shape == (2, 1)


def test_a_negative_split_is_not_that_of_the_positives() -> None:
    """The streams of one seed are independent: equal words would order edges and non-edges alike."""
    links = link_split(10_000, torch.stack([torch.arange(5000), torch.arange(5000) + 5000]), seed=0)
    with_targets, _ = random_split(5000, seed=0)
    same = len(set(links.train[0].tolist()) & set(with_targets["train"].tolist()))
    assert abs(same - 0.7 * 0.6 * 5000) < 200


# --- the audit ---


def linked(nodes: int, links: Links, edges: Tensor | None = None) -> Dataset:
    one_way = links.train if edges is None else edges
    both = torch.cat([one_way, one_way.flip(0)], dim=1)
    graph = Graphs(torch.tensor([nodes]), torch.tensor([both.size(1)]), both)
    return Dataset(name="made", task="link", metric="auc", provenance="own", graphs=graph, links=links)


GOOD = Links(
    train=torch.tensor([[0, 1, 2], [1, 2, 3]]),
    valid=torch.tensor([[3], [4]]),
    valid_negatives=torch.tensor([[0, 0], [2, 3]]),
    test=torch.tensor([[4], [5]]),
    test_negatives=torch.tensor([[0, 1], [5, 5]]),
)
RANKED = replace(
    GOOD, test_negatives=torch.tensor([[[4, 4]], [[0, 0]]]), valid_negatives=torch.tensor([[[3, 3]], [[0, 0]]])
)


def test_a_good_split_of_links_passes() -> None:
    for links in (GOOD, RANKED, replace(GOOD, test_message=torch.tensor([[4, 0], [3, 1]]))):
        assert link_leaks(linked(6, links)) == ()
        audit_split(linked(6, links))


def pair(one: int, other: int) -> Tensor:
    return torch.tensor([[one], [other]])


LEAKS: dict[str, tuple[Links, str]] = {
    "a test link trained on": (replace(GOOD, test=pair(0, 1)), "train links and test links share 1"),
    "reversed": (replace(GOOD, test=pair(1, 0)), "train links and test links share 1"),
    "a valid link trained on": (replace(GOOD, valid=pair(1, 2)), "train links and valid links share 1"),
    "a valid link tested on": (replace(GOOD, valid=pair(5, 4)), "valid links and test links share 1"),
    "a link twice": (replace(GOOD, valid=torch.tensor([[3, 4], [4, 3]])), "valid links hold 1 pairs twice"),
    "a self-link": (replace(GOOD, test=pair(5, 5)), "test links hold 1 pairs of a node with itself"),
    "a negative that is trained on": (
        replace(GOOD, valid_negatives=pair(0, 1)),
        "valid negatives and train links share 1",
    ),
    "a negative that is to be found": (
        replace(GOOD, valid_negatives=pair(4, 5)),
        "valid negatives and test links share 1",
    ),
    "a negative of its own part": (replace(GOOD, test_negatives=pair(5, 4)), "test negatives and test links share 1"),
    "a negative in valid and test": (
        replace(GOOD, test_negatives=pair(2, 0)),
        "valid negatives and test negatives share 1",
    ),
    "a negative twice": (
        replace(GOOD, test_negatives=torch.tensor([[0, 5], [5, 0]])),
        "test negatives hold 1 pairs twice",
    ),
    "a negative of one node": (replace(GOOD, test_negatives=pair(2, 2)), "test negatives hold 1 pairs of a node with"),
    "a ranked negative that is a link": (
        replace(RANKED, test_negatives=torch.tensor([[[4, 4]], [[0, 3]]])),
        "test negatives and valid links share 1",
    ),
    "no test links": (replace(GOOD, test=torch.zeros(2, 0, dtype=torch.long)), "there are no test links"),
    "no negatives": (
        replace(GOOD, valid_negatives=torch.zeros(2, 0, dtype=torch.long)),
        "there are no valid negatives",
    ),
    "a link outside": (replace(GOOD, test=pair(0, 6)), "test links name a node outside 0 to 5"),
    "a link below": (replace(GOOD, test=pair(0, -1)), "test links name a node outside 0 to 5"),
    "a message that is to be found": (
        replace(GOOD, test_message=pair(5, 4)),
        "messages of the test hold 1 edges that are neither",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_each_planted_leak_of_links_is_found_and_no_other(name: str) -> None:
    links, said = LEAKS[name]
    (fault,) = link_leaks(linked(6, links))
    assert said in fault
    for audit in (audit_split, audit_links):
        with pytest.raises(InputError, match="Mend the split") as error:
            audit(linked(6, links))
        assert fault in str(error.value)


def test_a_graph_with_a_held_out_edge_is_found() -> None:
    edges = torch.cat([GOOD.train, GOOD.test], dim=1)
    (fault,) = link_leaks(linked(6, GOOD, edges))
    assert "1 edges that are not training links" in fault


def targets(task: str, **parts: list[int]) -> Dataset:
    graphs = Graphs(torch.tensor([3, 3]), torch.tensor([0, 0]), torch.zeros(2, 0, dtype=torch.long))
    count = {"node": 6, "graph": 2, "subgraph": 4}[task]
    members = Members(torch.arange(5), torch.arange(4)) if task == "subgraph" else None
    return Dataset(
        name="made",
        task=task,  # type: ignore[arg-type]
        metric="accuracy",
        provenance="own",
        graphs=graphs,
        y=torch.zeros(count, dtype=torch.long),
        members=members,
        split={part: torch.tensor(ids, dtype=torch.long) for part, ids in parts.items()},
    )


def test_a_good_split_of_targets_passes() -> None:
    audit_split(targets("node", train=[0, 1], valid=[5], test=[2]))
    audit_split(targets("subgraph", train=[0, 1], valid=[2], test=[3]))


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        (targets("node", train=[0, 1], valid=[1], test=[2]), "train and valid share 1"),
        (targets("node", train=[0, 1], valid=[2], test=[0, 1]), "train and test share 2"),
        (targets("node", train=[0], valid=[2], test=[2]), "valid and test share 1"),
        (targets("node", train=[0, 0], valid=[1], test=[2]), "train has 1 targets twice"),
        (targets("node", train=[], valid=[1], test=[2]), "train is empty"),
        (targets("node", train=[0], valid=[1]), "test is empty"),
        (targets("node"), "train is empty"),
        (targets("node", train=[0], valid=[1], test=[6]), "test names a target outside 0 to 5"),
        (targets("node", train=[-1], valid=[1], test=[2]), "train names a target outside 0 to 5"),
        (targets("graph", train=[0], valid=[1], test=[2]), "test names a target outside 0 to 1"),
        (targets("subgraph", train=[0], valid=[1], test=[4]), "test names a target outside 0 to 3"),
        (targets("node", train=[0], valid=[1], test=[2], extra=[3]), "'extra' is not one of"),
        (replace(targets("node", train=[0], valid=[1], test=[2]), y=torch.zeros(5)), "6 targets and 5 labels"),
    ],
)
def test_each_planted_fault_of_a_split_of_targets_is_found(dataset: Dataset, said: str) -> None:
    with pytest.raises(InputError, match=said):
        audit_split(dataset)


def test_what_is_only_to_be_told_apart_needs_no_split_unless_it_is_the_users_own() -> None:
    bare = replace(targets("graph"), y=None)
    audit_split(replace(bare, provenance="original"))
    with pytest.raises(InputError, match="empty"):
        audit_split(bare)


# --- what a run keeps ---


@pytest.mark.parametrize(
    "dataset", [targets("node", train=[0, 3], valid=[5], test=[2]), linked(6, GOOD), linked(6, RANKED)]
)
def test_a_split_that_was_saved_is_the_one_that_is_read(dataset: Dataset) -> None:
    saved = load(save({name: ids.contiguous() for name, ids in split_parts(dataset).items()}))
    assert saved.keys() >= {"train", "valid", "test"}
    for name, ids in split_parts(dataset).items():
        torch.testing.assert_close(saved[name], ids, rtol=0, atol=0)
    assert ("test_negatives" in saved) == (dataset.links is GOOD)


def test_the_digest_is_of_the_split_and_of_nothing_else() -> None:
    one = targets("node", train=[0, 3], valid=[5], test=[2])
    assert split_digest(replace(one, name="other", y=None, split=dict(reversed(one.split.items())))) == split_digest(
        one
    )
    narrow = {part: ids.int() for part, ids in one.split.items()}
    assert split_digest(replace(one, split=narrow)) == split_digest(one)
    others = [
        targets("node", train=[0, 3], valid=[2], test=[5]),
        targets("node", train=[0], valid=[3, 5], test=[2]),
        targets("node", train=[0, 3], valid=[5], test=[1]),
        linked(6, GOOD),
        linked(6, replace(GOOD, test_negatives=torch.tensor([[0, 2], [5, 5]]))),
        linked(6, replace(GOOD, test=GOOD.test.flip(0))),
    ]
    assert len({split_digest(dataset) for dataset in [one, *others]}) == 1 + len(others)
    assert split_digest(targets("node")) == ""

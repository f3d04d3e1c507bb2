"""Each planted fault of a dataset is found and named; sound data pass, and what is allowed but odd is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from engnn.data.check import check, check_arrays
from engnn.data.dataset import Dataset, Graphs, Members
from engnn.errors import InputError

RING = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
NAN = float("nan")


def graphs(**change: Any) -> Graphs:
    """Two rings of five nodes, one after the other."""
    sound = {
        "num_nodes": torch.tensor([5, 5]),
        "num_edges": torch.tensor([5, 5]),
        "edge_index": RING.repeat(1, 2),
        "x": torch.ones(10, 2),
        "edge_attr": torch.ones(10, 1),
        "edge_weight": torch.ones(10),
    }
    return Graphs(**(sound | change))


def dataset(**change: Any) -> Dataset:
    sound: dict[str, Any] = {
        "name": "rings",
        "task": "node",
        "metric": "accuracy",
        "provenance": "own",
        "graphs": graphs(),
        "y": torch.arange(10) % 2,
        "classes": ("even", "odd"),
        "split": {"train": torch.arange(4), "valid": torch.arange(4, 7), "test": torch.arange(7, 10)},
    }
    return Dataset(**(sound | change))


def put(values: Tensor, at: tuple[int, ...], value: float) -> Tensor:
    changed = values.clone()
    changed[at] = value
    return changed


def sets(*members: list[int]) -> Members:
    ptr = np.cumsum([0, *map(len, members)])
    return Members(torch.from_numpy(ptr), torch.tensor([node for one in members for node in one]))


def test_sound_data_pass_and_nothing_is_said_of_them() -> None:
    assert check(graphs()) == check(dataset()) == ()


OF_GRAPHS: dict[str, tuple[Callable[[], Graphs], str]] = {
    "no graphs": (lambda: graphs(num_nodes=RING[0, :0], num_edges=RING[0, :0]), "has no graphs"),
    "a graph without nodes": (lambda: graphs(num_nodes=torch.tensor([10, 0])), "graph 1 has no nodes"),
    "float edges": (lambda: graphs(edge_index=RING.repeat(1, 2).float()), "edge_index is torch.float32"),
    "edges the other way": (lambda: graphs(edge_index=RING.repeat(1, 2).T), r"edge_index is .* of shape \(10, 2\)"),
    "edges not counted": (lambda: graphs(num_edges=torch.tensor([5, 4])), "10 edges, and num_edges adds up to 9"),
    "an edge into the next graph": (
        lambda: graphs(edge_index=put(RING.repeat(1, 2), (0, 3), 7)),
        "graph 0 has nodes 0 to 4, and edge 3 names node 7",
    ),
    "an edge past the last graph": (
        lambda: graphs(edge_index=put(RING.repeat(1, 2), (1, 9), 5)),
        "graph 1 has nodes 0 to 4, and edge 4 names node 5",
    ),
    "a negative edge": (
        lambda: graphs(edge_index=put(RING.repeat(1, 2), (1, 6), -1)),
        "graph 1.* edge 1 names node -1",
    ),
    "x too short": (lambda: graphs(x=torch.ones(9, 2)), r"x has the shape \(9, 2\): it must be \[10, width\]"),
    "x of one axis": (lambda: graphs(x=torch.ones(10)), r"x has the shape \(10,\)"),
    "x nan": (lambda: graphs(x=put(torch.ones(10, 2), (7, 1), NAN)), r"x\[7, 1\] is nan, not a finite number"),
    "x inf": (lambda: graphs(x=put(torch.ones(10, 2), (0, 0), float("inf"))), r"x\[0, 0\] is inf"),
    "x large": (lambda: graphs(x=put(torch.ones(10, 2), (0, 1), 1e38)), r"x\[0, 1\] is .*too large to compute with"),
    "sparse x nan": (lambda: graphs(x=put(torch.ones(10, 2), (7, 1), NAN).to_sparse()), "is nan"),
    "x of complex numbers": (lambda: graphs(x=torch.ones(10, 2) * 1j), "x is of type complex64: give numbers"),
    "codes beyond their levels": (lambda: graphs(x=torch.full((10, 2), 3), x_levels=(4, 3)), "codes outside 0 to"),
    "codes of floats": (lambda: graphs(x=torch.ones(10, 2), x_levels=(4, 3)), "codes outside 0 to"),
    "negative codes": (lambda: graphs(edge_attr=torch.full((10, 1), -1), edge_levels=(4,)), "edge_attr holds codes"),
    "edge_attr too long": (lambda: graphs(edge_attr=torch.ones(11, 1)), r"edge_attr has the shape \(11, 1\)"),
    "edge_weight too short": (
        lambda: graphs(edge_weight=torch.ones(9)),
        r"edge_weight has the shape \(9,\), and .* 10",
    ),
    "edge_weight of two axes": (lambda: graphs(edge_weight=torch.ones(10, 1)), r"edge_weight has the shape \(10, 1\)"),
    "edge_weight nan": (lambda: graphs(edge_weight=put(torch.ones(10), (2,), NAN)), r"edge_weight\[2\] is nan"),
    "edge_weight negative": (
        lambda: graphs(edge_weight=put(torch.ones(10), (2,), -0.5)),
        r"edge_weight\[2\] is -0.5.*must not be negative.*edge_attr",
    ),
}


@pytest.mark.parametrize("fault", OF_GRAPHS)
def test_a_fault_of_the_graphs_is_found_and_named(fault: str) -> None:
    make, said = OF_GRAPHS[fault]
    with pytest.raises(InputError, match=f"^mine.*{said}"):
        check(make(), "mine")
    with pytest.raises(InputError, match=said):
        check(dataset(graphs=make()), "mine")


def test_what_a_batch_of_pyg_finds_valid_is_refused_here() -> None:
    wrong = torch.tensor([[0, 1], [1, 7]])
    batch = Batch.from_data_list(
        [Data(x=torch.ones(5, 2), edge_index=wrong), Data(x=torch.ones(5, 2), edge_index=RING)]
    )
    assert batch.validate()  # node 7 is one of the next graph's
    with pytest.raises(InputError, match="graph 0 has nodes 0 to 4, and edge 1 names node 7"):
        check(graphs(num_edges=torch.tensor([2, 5]), edge_index=torch.cat([wrong, RING], 1)), "mine")


PARTS = dataset().split
OF_TARGETS: dict[str, tuple[dict[str, Any], str]] = {
    "labels for other targets": ({"y": torch.zeros(9, dtype=torch.long)}, "10 targets and 9 labels"),
    "a class out of range": ({"y": put(torch.arange(10) % 2, (5,), 2)}, "target 5 of valid has class 2.* 0 to 1"),
    "no class in the split": ({"y": put(torch.arange(10) % 2, (0,), -1)}, "target 0 of train has class -1"),
    "the class -100": ({"y": put(torch.arange(10) % 2, (9,), -100)}, "target 9 of test has class -100"),
    "classes of floats": ({"y": torch.zeros(10)}, "classes are torch.float32"),
    "classes of two axes": ({"y": torch.zeros(10, 1, dtype=torch.long)}, r"of shape \(10, 1\).*one integer a target"),
    "values of one axis": ({"y": torch.zeros(10), "classes": ()}, r"y has the shape \(10,\): .* \[targets, outputs\]"),
    "a value inf": ({"y": put(torch.zeros(10, 1), (3, 0), float("inf")), "classes": ()}, r"y\[3, 0\] is inf"),
    "yes/no of 2": (
        {"y": put(torch.zeros(10, 2), (3, 1), 2), "classes": (), "multilabel": True},
        r"y\[3, 1\] is 2: a yes/no answer is 0 or 1",
    ),
    "yes/no of 0.5": (
        {"y": put(torch.zeros(10, 2), (0, 0), 0.5), "classes": (), "multilabel": True},
        r"y\[0, 0\] is 0.5",
    ),
    "an empty part": ({"split": PARTS | {"valid": PARTS["valid"][:0]}}, "valid is empty"),
    "parts that share": ({"split": PARTS | {"valid": torch.tensor([3, 4])}}, "train and valid share 1 targets"),
    "a target that is none": ({"split": PARTS | {"test": torch.tensor([10])}}, "test names a target outside 0 to 9"),
    "a set without nodes": ({"task": "subgraph", "members": sets([0], [], [1])}, "subgraph 1 has no nodes"),
    "a set of other nodes": ({"task": "subgraph", "members": sets([0], [10])}, "outside 0 to 9"),
}


@pytest.mark.parametrize("fault", OF_TARGETS)
def test_a_fault_of_the_targets_is_found_and_named(fault: str) -> None:
    change, said = OF_TARGETS[fault]
    with pytest.raises(InputError, match=said):
        check(dataset(**change), "mine")


def test_missing_answers_are_allowed_outside_the_split_and_among_values() -> None:
    lacking = dataset(y=put(torch.arange(10) % 2, (9,), -1), split=PARTS | {"test": torch.tensor([7, 8])})
    assert check(lacking) == ()
    values = put(torch.zeros(10, 2), (3, 1), NAN)
    assert check(dataset(y=values, classes=(), outputs=("a", "b"))) == ()
    assert check(dataset(y=values, classes=(), outputs=("a", "b"), multilabel=True)) == ()


def test_nodes_without_edges_are_counted() -> None:
    assert check(graphs(num_nodes=torch.tensor([5, 8]), x=None)) == ("3 node(s) have no edge",)


def test_a_part_of_one_class_only_is_told_since_nothing_can_be_ranked_there() -> None:
    one = dataset(split=PARTS | {"valid": torch.tensor([4, 6])})
    assert check(one) == ("all targets of valid are of one class, 'even': AUC and the like are undefined there",)


def test_a_class_that_cannot_be_learnt_is_told() -> None:
    said = check(replace(dataset(y=torch.tensor([0, 1, 0, 1, 0, 1, 2, 0, 1, 2])), classes=("a", "b", "c")))
    assert said == ("1 class(es) have no training target, so none can be learnt: 'c'",)


def arrays(**change: Any) -> dict[str, np.ndarray]:
    sound = {"edge_index": RING.numpy(), "num_nodes": np.array(5), "y": np.arange(5), "x": np.eye(5)}
    return sound | {key: np.asarray(value) for key, value in change.items()}


def test_sound_arrays_pass_with_missing_values_in_y_only() -> None:
    check_arrays(arrays(y=[0.5, NAN, 1, 2, 3], train_mask=[True] * 5, edge_weight=[0.0] * 5), "mine")
    with pytest.raises(InputError, match=r"mine: x\[2, 1\] is nan"):
        check_arrays(arrays(x=put(torch.eye(5), (2, 1), NAN)), "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edge_index": RING.T.numpy()}, r"edge_index has the shape \(5, 2\)"),
        ({"edge_index": RING.numpy() * 1.0}, "edge_index is of type float64"),
        ({"edge_index": RING.numpy() > 0}, "edge_index is of type bool"),
        ({"num_nodes": 4}, r"edge 3 joins nodes \[3, 4\], and nodes are numbered 0 to 3"),
        ({"num_nodes": 0}, "has no nodes"),
        ({"x": np.eye(4)}, r"x has the shape \(4, 4\), and there are 5 nodes"),
        ({"x": np.zeros((5, 2, 2))}, r"x has the shape \(5, 2, 2\): give one row of numbers"),
        ({"x": 3.0}, r"x has the shape \(\)"),
        ({"x": np.full((5, 1), "a")}, "x is of type <U1: give numbers"),
        ({"edge_attr": np.ones((4, 1))}, r"edge_attr has the shape \(4, 1\), and there are 5 edges"),
        ({"edge_weight": np.ones((5, 2))}, r"edge_weight has the shape \(5, 2\): give one for each edge"),
        ({"edge_weight": [1, 1, -1, 1, 1]}, r"edge_weight\[2\] is -1"),
        ({"ids": list("abcd")}, r"ids has the shape \(4,\)"),
        ({"val_mask": [True]}, r"val_mask has the shape \(1,\)"),
        ({"val_mask": [0, 1, 0, 1, 0]}, "val_mask is of type int64"),
        ({"val_mask": np.ones((5, 10), dtype=bool)}, r"val_mask is of type bool and shape \(5, 10\).*choose one"),
        ({"y": [0, 1, np.inf, 2, 3]}, r"y\[2\] is inf"),
    ],
)
def test_a_fault_of_arrays_is_found_and_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^mine.*{said}"):
        check_arrays(arrays(**change), "mine")

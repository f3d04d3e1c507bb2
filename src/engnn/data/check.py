"""What is wrong with data, found before anything is trained on them: today's stack takes most of it in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data.columns import LARGEST
from engnn.data.dataset import Dataset, Graphs, Members
from engnn.data.splits import audit_split
from engnn.errors import InputError

Array = NDArray[Any]
NAMED = 5  # classes that a note names
MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}


def check(data: Dataset | Graphs, where: str = "the data") -> tuple[str, ...]:
    """Raise `InputError` unless the data can be trained on; the answer is what is allowed and yet worth telling.

    >>> edge = torch.tensor([[0, 1], [1, 2]])
    >>> check(Graphs(torch.tensor([2]), torch.tensor([2]), edge), "mine")
    Traceback (most recent call last):
    engnn.errors.InputError: mine: graph 0 has nodes 0 to 1, and edge 1 names node 2: mend the edge
    >>> check(Graphs(torch.tensor([4]), torch.tensor([2]), edge))
    ('1 node(s) have no edge',)
    """
    if isinstance(data, Graphs):
        return _check_graphs(data, where)
    notes = list(_check_graphs(data.graphs, where, "training edge" if data.links is not None else "edge"))
    if data.members is not None:
        _check_members(data.members, int(data.graphs.node_ptr[-1]), where)
    if data.split or data.links is not None:
        audit_split(data)
    if data.y is not None:
        notes += _check_labels(data, data.y, where)
    return tuple(notes)


def check_arrays(graph: Mapping[str, Array], where: str) -> None:
    """The same for one graph as arrays that are named as in PyG: `edge_index`, `num_nodes`, `x`, `y`, the masks, ….

    Each graph is checked alone, since in a batch an index that is out of range reads the next graph's features.
    """
    edges = graph["edge_index"]
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise InputError(f"{where}: edge_index has the shape {edges.shape}: it must be [2, number of edges]")
    if edges.dtype.kind not in "iu":
        raise InputError(f"{where}: edge_index is of type {edges.dtype}: node numbers must be integers")
    count = int(graph["num_nodes"])
    if count < 1:
        raise InputError(f"{where} has no nodes: a graph needs one at the least; take it out")
    wrong = np.flatnonzero(((edges < 0) | (edges >= count)).any(axis=0))
    if len(wrong):
        raise InputError(
            f"{where}: edge {wrong[0]} joins nodes {edges[:, wrong[0]].tolist()}, and nodes are numbered 0 to "
            f"{count - 1}: mend the edge, or give the right num_nodes"
        )
    rows = {"x": count, "ids": count, "edge_attr": edges.shape[1], "edge_weight": edges.shape[1]}
    for name, length in rows.items() | dict.fromkeys(MASKS, count).items():
        if name in graph and (graph[name].ndim == 0 or len(graph[name]) != length):
            of = "edges" if name.startswith("edge") else "nodes"
            raise InputError(f"{where}: {name} has the shape {graph[name].shape}, and there are {length} {of}: mend it")
    for name in ("x", "edge_attr", "y"):
        if name in graph and graph[name].ndim > 2:
            raise InputError(f"{where}: {name} has the shape {graph[name].shape}: give one row of numbers for each")
    for name in ("x", "edge_attr", "edge_weight", "y"):
        if name in graph:
            _check_numbers(graph[name], f"{where}: {name}", missing=name == "y")
    if "edge_weight" in graph:
        _check_weights(graph["edge_weight"].reshape(-1), where)
        if graph["edge_weight"].size != edges.shape[1]:
            raise InputError(f"{where}: edge_weight has the shape {graph['edge_weight'].shape}: give one for each edge")
    for name in MASKS:
        if name in graph and (graph[name].ndim != 1 or graph[name].dtype != np.bool_):
            raise InputError(
                f"{where}: {name} is of type {graph[name].dtype} and shape {graph[name].shape}: give one true or false "
                "for each node (of several splits, choose one)"
            )


def _check_graphs(graphs: Graphs, where: str, edge_name: str = "edge") -> tuple[str, ...]:
    if not len(graphs):
        raise InputError(f"{where} has no graphs: give one at the least")
    if (empty := torch.nonzero(graphs.num_nodes < 1)).numel():
        raise InputError(f"{where}: graph {int(empty[0])} has no nodes: a graph needs one at the least; take it out")
    edges = graphs.edge_index
    if edges.is_floating_point() or edges.dim() != 2 or edges.size(0) != 2:
        raise InputError(f"{where}: edge_index is {edges.dtype} of shape {tuple(edges.shape)}: give integers [2, m]")
    if edges.size(1) != int(graphs.edge_ptr[-1]):
        raise InputError(f"{where}: there are {edges.size(1)} edges, and num_edges adds up to {graphs.edge_ptr[-1]}")
    limit = torch.repeat_interleave(graphs.num_nodes, graphs.num_edges)
    if (wrong := torch.nonzero(((edges < 0) | (edges >= limit)).any(dim=0))).numel():
        edge = int(wrong[0])
        graph = int(torch.searchsorted(graphs.edge_ptr, edge, right=True)) - 1
        ends = edges[:, edge].tolist()
        outside = next(end for end in ends if not 0 <= end < limit[edge])
        raise InputError(
            f"{where}: graph {graph} has nodes 0 to {int(limit[edge]) - 1}, and edge "
            f"{edge - int(graphs.edge_ptr[graph])} names node {outside}: mend the edge"
        )
    num_nodes = int(graphs.node_ptr[-1])
    _check_features(graphs.x, graphs.x_levels, num_nodes, f"{where}: x")
    _check_features(graphs.edge_attr, graphs.edge_levels, edges.size(1), f"{where}: edge_attr")
    if graphs.edge_weight is not None:
        if graphs.edge_weight.shape != (edges.size(1),):
            raise InputError(
                f"{where}: edge_weight has the shape {tuple(graphs.edge_weight.shape)}, and there are {edges.size(1)} "
                "edges: give one for each"
            )
        _check_numbers(graphs.edge_weight.numpy(), f"{where}: edge_weight")
        _check_weights(graphs.edge_weight.numpy(), where)
    seen = torch.zeros(num_nodes, dtype=torch.bool)
    seen[edges + torch.repeat_interleave(graphs.node_ptr[:-1], graphs.num_edges)] = True
    alone = num_nodes - int(seen.sum())
    return (f"{alone} node(s) have no {edge_name}",) if alone else ()


def _check_features(values: Tensor | None, levels: tuple[int, ...], rows: int, what: str) -> None:
    if values is None:
        return
    if values.dim() != 2 or values.size(0) != rows:
        raise InputError(f"{what} has the shape {tuple(values.shape)}: it must be [{rows}, width]")
    if levels:
        limit = torch.tensor(levels)
        if values.is_floating_point() or (values < 0).any() or (values >= limit).any():
            raise InputError(f"{what} holds codes outside 0 to {(limit - 1).tolist()}, its levels: mend them")
    else:
        _check_numbers((values.coalesce().values() if values.is_sparse else values).numpy(), what)


def _check_numbers(values: Array, what: str, *, missing: bool = False) -> None:
    if values.dtype.kind not in "fiub":
        raise InputError(f"{what} is of type {values.dtype}: give numbers")
    with np.errstate(invalid="ignore"):
        fine = np.abs(values.astype(np.float64)) <= LARGEST
    if missing:
        fine |= np.isnan(values)
    if not fine.all():
        at = [int(place[0]) for place in np.nonzero(~fine)]
        value = values[tuple(at)]
        why = f"beyond ±{LARGEST:g}, too large to compute with" if np.isfinite(value) else "not a finite number"
        raise InputError(f"{what}{at} is {value}, {why}: mend, scale or fill it in")


def _check_weights(weights: Array, where: str) -> None:
    if (wrong := np.flatnonzero(weights < 0)).size:
        raise InputError(
            f"{where}: edge_weight[{wrong[0]}] is {weights[wrong[0]]}: weights must not be negative, since "
            "degrees are sums of them; give it as edge_attr"
        )


def _check_members(members: Members, num_nodes: int, where: str) -> None:
    if (empty := torch.nonzero(members.ptr[1:] <= members.ptr[:-1])).numel():
        raise InputError(f"{where}: subgraph {int(empty[0])} has no nodes: list them, or take it out")
    nodes = members.nodes
    if nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < num_nodes:
        raise InputError(f"{where}: a subgraph names a node outside 0 to {num_nodes - 1}: mend it")


def _check_labels(dataset: Dataset, y: Tensor, where: str) -> list[str]:
    if dataset.classes or not y.is_floating_point():
        if y.dim() != 1 or y.is_floating_point():
            raise InputError(f"{where}: classes are {y.dtype} of shape {tuple(y.shape)}: give one integer a target")
        for part, targets in dataset.split.items():
            if (wrong := torch.nonzero((y[targets] < 0) | (y[targets] >= len(dataset.classes)))).numel():
                target = int(targets[wrong[0, 0]])
                raise InputError(
                    f"{where}: target {target} of {part} has class {int(y[target])}, and classes are numbered 0 to "
                    f"{len(dataset.classes) - 1}: mend it, or take it out of the split"
                )
        return _class_notes(dataset, y)
    if y.dim() != 2:
        raise InputError(
            f"{where}: y has the shape {tuple(y.shape)}: values are [targets, outputs], even where there is 1"
        )
    _check_numbers(y.numpy(), f"{where}: y", missing=True)
    if dataset.multilabel and (wrong := torch.nonzero(~((y == 0) | (y == 1) | y.isnan()))).numel():
        row, column = wrong[0].tolist()
        raise InputError(
            f"{where}: y[{row}, {column}] is {float(y[row, column]):g}: a yes/no answer is 0 or 1; mend it"
        )
    return []


def _class_notes(dataset: Dataset, y: Tensor) -> list[str]:
    notes = []
    for part, targets in dataset.split.items():
        if len(targets) and bool((y[targets] == y[targets[0]]).all()):
            only = dataset.classes[int(y[targets[0]])]
            notes.append(f"all targets of {part} are of one class, {only!r}: AUC and the like are undefined there")
    if "train" in dataset.split:
        learnt = torch.bincount(y[dataset.split["train"]], minlength=len(dataset.classes)) > 0
        asked = torch.bincount(y[y >= 0], minlength=len(dataset.classes)) > 0
        if (missed := torch.nonzero(asked & ~learnt)).numel():
            names = ", ".join(repr(dataset.classes[int(kind)]) for kind in missed[:NAMED])
            notes.append(f"{len(missed)} class(es) have no training target, so none can be learnt: {names}")
    return notes

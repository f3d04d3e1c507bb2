"""Graphs as arrays named as in PyG (`edge_index`, `x`, `y`, …) become tables, each graph checked by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engnn.data.check import MASKS, check_arrays
from engnn.data.dataset import Task
from engnn.data.own.table import Tables, Values, as_texts, make_table
from engnn.errors import InputError, nearest

Array = NDArray[Any]
Graph = Mapping[str, Array]
KEYS: Final = ("edge_index", "num_nodes", "x", "y", "edge_attr", "edge_weight", "ids", *MASKS)


def tables_of(graphs: Sequence[Graph], name: str, task: Task | None = None) -> Tables:
    """The tables of these graphs. `x` and `edge_attr` are taken as they are, neither scaled nor made one-hot.

    `y` has a row for each node, or, where there are many graphs, one for each graph.
    """
    if not graphs:
        raise InputError(f"{name} holds no graphs: give one at the least")
    several = len(graphs) > 1
    whole: list[dict[str, Array]] = []
    for number, graph in enumerate(graphs):
        where = f"{name}, graph {number}" if several else name
        for key in graph:
            if key not in KEYS:
                raise InputError(f"{where}: array {key!r} is not known; {nearest(key, KEYS)}. Take it out or rename it")
        if "edge_index" not in graph:
            raise InputError(f"{where} has no edge_index: give the edges as integers [2, number of edges]")
        counted = {**graph, "num_nodes": _num_nodes(graph, where)}
        check_arrays(counted, where)
        if whole and counted.keys() != whole[0].keys():
            differ = sorted(counted.keys() ^ whole[0].keys())
            raise InputError(
                f"{where}: {', '.join(differ)} is in some graphs and not in others: give it in all, or none"
            )
        whole.append(counted)
    sizes = np.array([int(graph["num_nodes"]) for graph in whole])
    starts = np.cumsum(sizes) - sizes
    edges = np.concatenate(
        [g["edge_index"].astype(np.int64) + start for g, start in zip(whole, starts, strict=True)], 1
    )
    graph_of = np.repeat(np.arange(len(whole)), sizes)

    def node_at(row: int) -> str:
        graph = int(graph_of[row])
        return f"{name}, {f'graph {graph}, ' if several else ''}node {row - starts[graph]}"

    def edge_at(row: int) -> str:
        graph = int(graph_of[edges[0, row]])
        before = sum(g["edge_index"].shape[1] for g in whole[:graph])
        return f"{name}, {f'graph {graph}, ' if several else ''}edge {row - before}"

    def graph_at(row: int) -> str:
        return f"{name}, graph {row}"

    ids = [_ids(graph, name) for graph in whole]
    of_node: list[tuple[str, Values]] = [("id", [id_ for some in ids for id_ in some])]
    of_edge: list[tuple[str, Values]] = [("source", edges[0]), ("target", edges[1])]
    of_graph: list[tuple[str, Values]] = [("graph", [str(number) for number in range(len(whole))])]
    if several:
        of_node.append(("graph", graph_of))
    if "x" in whole[0]:
        of_node.append(("x", _stacked([g["x"] for g in whole], name, "x")))
    if "edge_attr" in whole[0]:
        of_edge.append(("edge_attr", _stacked([g["edge_attr"] for g in whole], name, "edge_attr")))
    if "edge_weight" in whole[0]:
        of_edge.append(("weight", np.concatenate([g["edge_weight"].reshape(-1) for g in whole]).astype(np.float64)))
    splits = [_split(graph, node_at, int(start)) for graph, start in zip(whole, starts, strict=True)]
    if any(splits):
        of_node.append(("split", [part for some in splits for part in some]))
    if "y" in whole[0]:
        asked = [_labels(graph, several, task, f"{name}, graph {number}") for number, graph in enumerate(whole)]
        if len({of for of, _ in asked}) > 1:
            raise InputError(f"{name}: y is for each node in some graphs and for the graph in others: give one kind")
        y = _stacked([labels for _, labels in asked], name, "y")
        (of_graph if asked[0][0] == "graph" else of_node).append(
            _label_column(y, [part for some in splits for part in some])
        )
    tables: Tables = {
        "nodes": make_table("nodes", f"{name}, nodes", of_node, len(graph_of), node_at),
        "edges": make_table("edges", f"{name}, edges", of_edge, edges.shape[1], edge_at),
    }
    if several:
        tables["graphs"] = make_table("graphs", f"{name}, graphs", of_graph, len(whole), graph_at)
    return tables


def _num_nodes(graph: Graph, where: str) -> Array:
    if "num_nodes" in graph:
        given = graph["num_nodes"]
        if given.ndim or given.dtype.kind not in "iu":
            raise InputError(f"{where}: num_nodes is {given!r:.60}: give one whole number")
        return given
    for key in ("x", "ids", *MASKS):
        if key in graph and graph[key].ndim:
            return np.array(len(graph[key]))
    raise InputError(
        f"{where} does not say how many nodes there are: without features, nodes without edges at the end are not "
        "seen; give num_nodes"
    )


def _ids(graph: Graph, name: str) -> list[str]:
    count = int(graph["num_nodes"])
    if "ids" not in graph:
        return list(map(str, range(count)))
    if graph["ids"].dtype.kind not in "iuU":
        raise InputError(f"{name}: ids are of type {graph['ids'].dtype}: give text or whole numbers")
    return as_texts(graph["ids"].tolist(), "id {}".format)


def _stacked(arrays: Sequence[Array], name: str, key: str) -> Array:
    """The rows of several arrays, one after another, `[rows, width]`."""
    tables = [
        array.reshape(len(array), -1) if array.size else array.reshape(len(array), _width(array)) for array in arrays
    ]
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        number = next(number for number, width in enumerate(widths) if width != widths[0])
        raise InputError(
            f"{name}, graph {number}: {key} has {widths[number]} column(s), and in graph 0 {widths[0]}: give as many"
        )
    return np.concatenate(tables)


def _width(array: Array) -> int:
    return array.shape[1] if array.ndim > 1 else 1


def _split(graph: Graph, place: Any, start: int) -> list[str]:
    masks = {part: graph[mask] for mask, part in MASKS.items() if mask in graph}
    if not masks:
        return []
    found = [""] * int(graph["num_nodes"])
    for part, mask in masks.items():
        for node in np.flatnonzero(mask).tolist():
            if found[node]:
                raise InputError(f"{place(start + node)} is in the masks of both {found[node]} and {part}: keep one")
            found[node] = part
    return found


def _labels(graph: Graph, several: bool, task: Task | None, where: str) -> tuple[str, Array]:
    y, count = graph["y"], int(graph["num_nodes"])
    if y.ndim == 0:
        y = y.reshape(1)
    if len(y) == 1 and several and not (task == "node" and count == 1):
        return "graph", y
    if len(y) == count and task != "graph":
        return "node", y
    raise InputError(
        f"{where}: y has the shape {graph['y'].shape}, and there are {count} nodes: give one row for each node, or, in "
        "several graphs, one row for each graph ([1, outputs])"
    )


def _label_column(y: Array, split: list[str]) -> tuple[str, Values]:
    if y.dtype.kind == "f" or y.shape[1] > 1:
        return "label", y
    labels = [str(int(value)) for value in y[:, 0].tolist()]
    if split and len(split) == len(labels):  # where there are masks, a negative class outside them means "none"
        labels = [label if part or not label.startswith("-") else "" for label, part in zip(labels, split, strict=True)]
    return "label", labels

"""Whose nodes they are: the user's ids, which are strings and stay strings, and the places they get in a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Final

import numpy as np

from engnn.data.own.table import Table, Tables, Values
from engnn.data.pairs import Ints
from engnn.errors import InputError

HINTS_AMONG: Final = 5000  # a close match is looked for among no more ids than this, since that takes long
WITHIN: Final = "\0"  # between a graph's id and a node's; no id holds it


@dataclass(frozen=True)
class Nodes:
    """Every node, graph after graph, as a dataset numbers them."""

    ids: tuple[str, ...]
    graphs: tuple[str, ...]
    sizes: Ints  # [G] nodes of each graph
    rows: Ints  # the row of the node table that each node is in
    index: dict[str, int]  # id, or graph + WITHIN + id -> number
    scoped: bool  # whether ids are of a graph, not of all graphs together
    listed_in: str

    @property
    def graph(self) -> Ints:
        """The graph of each node."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def find(self, table: Table, column: str) -> Ints:
        """The node that each row of a column names."""
        values = table.columns[column]
        if isinstance(values, np.ndarray):  # rows of the node table: the source had numbers in place of ids
            places = np.empty_like(self.rows)
            places[self.rows] = np.arange(len(self.rows))
            return places[values]
        keys = _scoped(table.text("graph"), values) if self.scoped else values
        found = list(map(self.index.get, keys))
        if None in found:
            row = found.index(None)
            raise self.unknown(values[row], f"{table.place(row)}: {column}")
        return np.array(found, dtype=np.int64)

    def unknown(self, name: str, where: str) -> InputError:
        """The error for an id that is not there."""
        if not name:
            return InputError(f"{where} is blank: give a node's id, or take the row out")
        known = {id_.strip().lstrip("0"): id_ for id_ in reversed(self.ids)}
        like = known.get(name.strip().lstrip("0")) or known.get(name.removesuffix(".0"))
        if like is None and len(self.ids) <= HINTS_AMONG:
            like = next(iter(get_close_matches(name, self.ids, n=1)), None)
        hint = f" (did you mean {like!r}? Ids are text: '1', '01' and '1.0' are three)" if like else ""
        return InputError(
            f"{where} {name!r:.80} is not the id of a node in {self.listed_in}{hint}: add it there, or mend the id"
        )


def number_nodes(tables: Tables) -> Nodes:
    """The nodes of the node table, or where there is none, those that the edges name, in the order they come in."""
    nodes, edges = tables.get("nodes"), tables["edges"]
    if nodes is None:
        return _of_edges(edges, tables.get("graphs"))
    ids = nodes.text("id")
    _check_ids(nodes, "id", ids)
    graph, graphs = _graphs(nodes, tables.get("graphs"))
    scoped = "graph" in edges.columns or isinstance(edges.columns["source"], np.ndarray)
    scoped = scoped and "graph" in nodes.columns
    if "graph" in edges.columns and not scoped:
        raise InputError(f"{edges.name} has a column 'graph', and {nodes.name} has none: give both, or neither")
    rows = np.argsort(graph, kind="stable")
    keys = _scoped([graphs[i] for i in graph.tolist()], ids) if scoped else ids
    keys = keys if len(graphs) == 1 else [keys[row] for row in rows.tolist()]
    index = {key: number for number, key in enumerate(keys)}
    if len(index) < len(keys):
        row, before = _twice([keys[place] for place in np.argsort(rows).tolist()])
        hint = (
            "" if len(graphs) == 1 or scoped else "; to number the nodes of each graph anew, give edges.csv a column "
        )
        hint += "'graph' too" * bool(hint)
        raise InputError(
            f"{nodes.place(row)}: id {ids[row]!r} is already that of {nodes.place(before)}: take one of them out, or "
            f"rename it{hint}"
        )
    return Nodes(
        ids=tuple(ids[row] for row in rows.tolist()),
        graphs=tuple(graphs),
        sizes=np.bincount(graph, minlength=len(graphs)),
        rows=rows,
        index=index,
        scoped=scoped,
        listed_in=nodes.name,
    )


def names(table: Table, column: str) -> list[str]:
    """A column of ids that are sound and different."""
    ids = table.text(column)
    _check_ids(table, column, ids)
    if len(set(ids)) < len(ids):
        row, before = _twice(ids)
        raise InputError(
            f"{table.place(row)}: {column} {ids[row]!r} is already that of {table.place(before)}: take one out"
        )
    return ids


def _of_edges(edges: Table, graphs: Table | None) -> Nodes:
    if "graph" in edges.columns or graphs is not None:
        raise InputError(
            f"{edges.name}: where there are several graphs, the nodes of each must be listed, in nodes.csv with the "
            "columns id and graph"
        )
    source, target = edges.text("source"), edges.text("target")
    index = {
        name: number for number, name in enumerate(dict.fromkeys(chain.from_iterable(zip(source, target, strict=True))))
    }
    if any(_fault(name) for name in index):
        for column in ("source", "target"):
            _check_ids(edges, column, edges.text(column))
    count = len(index)
    return Nodes(tuple(index), ("0",), np.array([count]), np.arange(count), index, False, edges.name)


def _graphs(nodes: Table, graphs: Table | None) -> tuple[Ints, list[str]]:
    """The graph of each row of the node table, and the graphs' ids."""
    if "graph" not in nodes.columns:
        if graphs is not None and graphs.rows > 1:
            raise InputError(
                f"{nodes.name} has no column 'graph', and {graphs.name} lists {graphs.rows} graphs: say of each node "
                "which graph it is in"
            )
        return np.zeros(nodes.rows, dtype=np.int64), names(graphs, "graph") if graphs is not None else ["0"]
    of: Values = nodes.columns["graph"]
    if isinstance(of, np.ndarray):
        of = [str(number) for number in of.tolist()]
    _check_ids(nodes, "graph", of)
    known = list(dict.fromkeys(of)) if graphs is None else names(graphs, "graph")
    index = {name: number for number, name in enumerate(known)}
    found = list(map(index.get, of))
    if graphs is not None and None in found:
        row = found.index(None)
        like = next(iter(get_close_matches(of[row], known[:HINTS_AMONG], n=1)), None)
        hint = f" (did you mean {like!r}?)" if like else ""
        raise InputError(f"{nodes.place(row)}: graph {of[row]!r} is not in {graphs.name}{hint}: add it, or mend it")
    if graphs is not None and (empty := set(known) - set(of)):
        row = next(row for row, name in enumerate(known) if name in empty)
        raise InputError(
            f"{graphs.place(row)}: graph {known[row]!r} has no nodes in {nodes.name}: list them, or take the graph out"
        )
    return np.array(found, dtype=np.int64), known


def _scoped(graphs: list[str], ids: list[str]) -> list[str]:
    return [f"{graph}{WITHIN}{name}" for graph, name in zip(graphs, ids, strict=True)]


def _fault(name: str) -> str:
    if not name.strip():
        return "is blank: give an id"
    if name != name.strip():
        return "begins or ends with white space: take it away"
    if WITHIN in name:
        return "has a NUL character in it: take it away"
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        return "has half a character (a lone surrogate) in it: take it away"
    return ""


def _check_ids(table: Table, column: str, ids: Iterable[str]) -> None:
    for row, name in enumerate(ids):
        if fault := _fault(name):
            raise InputError(f"{table.place(row)}: {column} {name!r:.80} {fault}")


def _twice(names: list[str]) -> tuple[int, int]:
    """The first row that has the name of an earlier one, and that one."""
    seen: dict[str, int] = {}
    return next((row, seen[name]) for row, name in enumerate(names) if seen.setdefault(name, row) != row)

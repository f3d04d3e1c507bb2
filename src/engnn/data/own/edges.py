"""The edges of a table as pairs of nodes: undirected, each once, without self-loops; and what that changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engnn.data.columns import LARGEST, numbers
from engnn.data.own.nodes import Nodes
from engnn.data.own.table import Table
from engnn.data.pairs import Ints, distinct, encoded
from engnn.errors import InputError


@dataclass(frozen=True)
class Edges:
    """`pairs` `[2, m]` of nodes as a dataset numbers them, graph after graph, and the rows that each was made of."""

    pairs: Ints
    rows: Ints  # rows of the table, those of the first pair first
    sizes: Ints  # [m] how many rows each pair has
    notes: tuple[str, ...]

    def mean(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Values `[rows of the table, width]` as `[m, width]`: the mean over the rows that were merged."""
        values = values[self.rows]
        if len(values) == len(self.sizes):
            return values.astype(np.float32)
        starts = np.cumsum(self.sizes) - self.sizes
        sums = np.add.reduceat(values.astype(np.float64), starts, axis=0)
        return (sums / self.sizes[:, None]).astype(np.float32)


def read_edges(table: Table, nodes: Nodes) -> Edges:
    """The edges of a table between nodes that are known."""
    source, target = nodes.find(table, "source"), nodes.find(table, "target")
    if len(nodes.sizes) > 1:
        graph = nodes.graph
        across = np.flatnonzero(graph[source] != graph[target])
        if len(across):
            row = int(across[0])
            ends = [f"{nodes.ids[end]!r} of graph {nodes.graphs[graph[end]]!r}" for end in (source[row], target[row])]
            raise InputError(
                f"{table.place(row)}: the edge joins {ends[0]} and {ends[1]}: an edge is within one graph; mend its "
                f"ends, or the column 'graph' of {nodes.listed_in}"
            )
    kept = np.flatnonzero(source != target)
    count = len(nodes.ids)
    one_way = source[kept] * count + target[kept]
    codes = encoded(np.stack([source[kept], target[kept]]), count)
    order = np.argsort(codes, kind="stable")
    unique, sizes = np.unique(codes, return_counts=True)
    first = order[np.cumsum(sizes) - sizes]  # the first row of each pair; pairs then come graph after graph, by it
    by_graph = np.argsort(first, kind="stable")
    if len(nodes.sizes) > 1:
        by_graph = by_graph[np.argsort(graph[source[kept][first[by_graph]]], kind="stable")]
    rank = np.empty_like(by_graph)
    rank[by_graph] = np.arange(len(by_graph))
    rows = kept[order[np.argsort(np.repeat(rank, sizes), kind="stable")]]
    first, sizes = kept[first[by_graph]], sizes[by_graph]
    return Edges(
        pairs=np.stack([source[first], target[first]]),
        rows=rows,
        sizes=sizes,
        notes=_notes(len(source) - len(kept), len(kept), len(distinct(one_way)), len(unique)),
    )


def read_weights(table: Table) -> NDArray[np.float64] | None:
    """The column `weight`: a number of 0 or more on every row."""
    if "weight" not in table.columns:
        return None
    found = numbers("weight", table.columns["weight"], table.place, "number")
    assert found is not None
    for wrong, why in ((np.isnan(found), "is missing"), (found < 0, "is negative")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{table.place(row)}: weight {table.columns['weight'][row]} {why}: every edge needs a weight from 0 to "
                f"{LARGEST:g}; a column of other numbers may be a feature under another name"
            )
    return found


def _notes(loops: int, rows: int, one_way: int, pairs: int) -> tuple[str, ...]:
    notes = [f"edges are taken as undirected: {pairs} different pair(s)"]
    if one_way > pairs:
        notes.append(f"{one_way - pairs} of them are given in both directions and count once")
    if rows > one_way:
        notes.append(f"{rows - one_way} repeated edge(s) merged; weights and features of merged rows are averaged")
    if loops:
        notes.append(f"{loops} self-loop(s) dropped")
    return tuple(notes)

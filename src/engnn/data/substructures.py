"""How many times each small pattern hangs on each node, counted exactly.

A pattern is written as a path that starts at the counted node (place 0) and steps through all its nodes, plus the
pairs of places that must be joined besides. Counting is then: walk along every simple path, keep those whose extra
pairs are joined, and divide by the number of ways in which the path can run through one and the same copy. Copies
need not be induced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data.dataset import Graphs
from engnn.errors import InputError, nearest

Array = NDArray[Any]


@dataclass(frozen=True)
class Pattern:
    """A path of `steps` edges from the counted node, the extra pairs to be joined, and the paths in each copy."""

    steps: int
    joined: tuple[tuple[int, int], ...]
    paths_per_copy: int


PATTERNS = {
    "3-cycle": Pattern(2, ((0, 2),), 2),
    "4-cycle": Pattern(3, ((0, 3),), 2),
    "5-cycle": Pattern(4, ((0, 4),), 2),
    "6-cycle": Pattern(5, ((0, 5),), 2),
    "tailed-triangle": Pattern(3, ((1, 3),), 2),  # the node is the loose end of the tail
    "chordal-cycle": Pattern(3, ((0, 3), (1, 3)), 2),  # the node is off the chord
    "4-clique": Pattern(3, ((0, 2), (0, 3), (1, 3)), 6),
    "4-path": Pattern(4, (), 1),  # the node is one end of a path of four edges
    "triangle-rectangle": Pattern(4, ((0, 4), (1, 4)), 2),  # the node is the triangle's, off the rectangle
}
PATHS_AT_ONCE = 1 << 18  # bounds the memory, whatever the number of paths


def count(graphs: Graphs, patterns: Sequence[str] = tuple(PATTERNS)) -> Tensor:
    """The number of copies of each pattern at each node: `[n, len(patterns)]`, the nodes of all graphs end to end.

    Graphs are read as simple and undirected. Needs the sum of the squared graph sizes in bytes.

    >>> square = Graphs(torch.tensor([4]), torch.tensor([4]), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> count(square, ["3-cycle", "4-cycle"]).tolist()
    [[0, 1], [0, 1], [0, 1], [0, 1]]
    """
    for name in patterns:
        if name not in PATTERNS:
            raise InputError(f"substructure {name!r} is not known; {nearest(name, PATTERNS)}")
    chosen = [PATTERNS[name] for name in patterns]
    adjacency = _Adjacency(graphs)
    found = np.zeros((len(adjacency.degree), len(chosen)), dtype=np.int64)
    longest = max((pattern.steps for pattern in chosen), default=0)
    pending = [np.arange(len(found), dtype=np.int64)[None, :]] if longest else []
    while pending:
        paths = pending.pop()
        half = paths.shape[1] // 2
        if half and adjacency.degree[paths[-1]].sum() > PATHS_AT_ONCE:
            pending += [paths[:, :half], paths[:, half:]]
            continue
        paths = adjacency.extend(paths)
        for column, pattern in enumerate(chosen):
            if pattern.steps == len(paths) - 1:
                whole = np.ones(paths.shape[1], dtype=bool)
                for a, b in pattern.joined:
                    whole &= adjacency.joined(paths[a], paths[b])
                found[:, column] += np.bincount(paths[0, whole], minlength=len(found))
        if len(paths) <= longest and paths.shape[1]:
            pending.append(paths)
    return torch.from_numpy(found // np.array([pattern.paths_per_copy for pattern in chosen], dtype=np.int64))


class _Adjacency:
    """Every graph's adjacency matrix in one flat array, and the neighbours read off it."""

    def __init__(self, graphs: Graphs) -> None:
        size = graphs.num_nodes.numpy()
        owner = np.repeat(np.arange(len(graphs)), size)  # the graph of each node
        start = graphs.node_ptr.numpy()
        row = np.concatenate([[0], np.cumsum(size[owner])])
        self.row = row[:-1] - start[owner]  # entry (u, v) is at row[u] + v, with u and v counted over all graphs
        shift = np.repeat(start[:-1], graphs.num_edges.numpy())
        source, target = graphs.edge_index.numpy() + shift
        self.matrix = np.zeros(row[-1], dtype=bool)
        self.matrix[self.row[source] + target] = True
        self.matrix[self.row[target] + source] = True
        self.matrix[self.row + np.arange(len(owner))] = False  # self-loops
        entries = np.flatnonzero(self.matrix)
        source = np.searchsorted(row, entries, side="right") - 1
        self.neighbour = entries - self.row[source]
        self.degree = np.bincount(source, minlength=len(owner))
        self.first = np.cumsum(self.degree) - self.degree

    def joined(self, u: Array, v: Array) -> Array:
        found: Array = self.matrix[self.row[u] + v]
        return found

    def extend(self, paths: Array) -> Array:
        """Each path `[steps + 1]` in all ways by one more node that is not on it."""
        degree = self.degree[paths[-1]]
        longer = np.repeat(np.arange(paths.shape[1]), degree)
        start = np.cumsum(degree) - degree
        new = self.neighbour[np.arange(len(longer)) + (self.first[paths[-1]] - start)[longer]]
        fresh = np.ones(len(new), dtype=bool)
        for step in paths[:-1]:
            fresh &= step[longer] != new
        return np.concatenate([paths[:, longer[fresh]], new[fresh][None, :]])

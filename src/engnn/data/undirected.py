"""Undirected edges, each given once, become `Graphs`: entry 2k is edge k as given, entry 2k + 1 its reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engnn.data.dataset import Graphs

Array = NDArray[Any]


def undirected(
    num_nodes: Array,
    num_edges: Array,
    edges: Array,
    *,
    x: Array | None = None,
    x_levels: tuple[int, ...] = (),
    edge_attr: Array | None = None,
    edge_levels: tuple[int, ...] = (),
) -> Graphs:
    """Graphs from `edges` `[2, m]`, of which graph `i` owns the next `num_edges[i]`; `edge_attr` has one row an edge.

    >>> undirected(np.array([2, 3]), np.array([1, 1]), np.array([[0, 1], [1, 2]])).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    entries = np.empty((2, 2 * edges.shape[1]), dtype=np.int32)
    entries[:, 0::2] = edges
    entries[:, 1::2] = edges[::-1]
    return Graphs(
        torch.from_numpy(num_nodes.astype(np.int64)),
        torch.from_numpy(2 * num_edges.astype(np.int64)),
        torch.from_numpy(entries),
        x=None if x is None else torch.from_numpy(x),
        x_levels=x_levels,
        edge_attr=None if edge_attr is None else torch.from_numpy(np.repeat(edge_attr, 2, axis=0)),
        edge_levels=edge_levels,
    )

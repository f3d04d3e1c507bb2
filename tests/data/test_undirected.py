"""Each edge is there in both directions, beside one another, with its own values; graphs keep their edges."""

from __future__ import annotations

import numpy as np
import torch

from engnn.data.undirected import undirected

SIZES, COUNTS = np.array([2, 3], dtype=np.uint8), np.array([1, 2], dtype=np.uint8)
EDGES = np.array([[1, 0, 2], [0, 2, 1]], dtype=np.uint8)


def test_an_edge_and_its_reverse_stand_beside_one_another_in_their_graph() -> None:
    graphs = undirected(SIZES, COUNTS, EDGES)
    assert graphs.edge_index.tolist() == [[1, 0, 0, 2, 2, 1], [0, 1, 2, 0, 1, 2]]
    assert graphs.num_edges.tolist() == [2, 4]
    assert graphs.batch(torch.tensor([1])).edge_index.tolist() == [[0, 2, 2, 1], [2, 0, 1, 2]]


def test_values_of_an_edge_are_those_of_both_its_directions() -> None:
    x, attr = np.arange(10.0).reshape(5, 2), np.array([[1], [2], [3]])
    graphs = undirected(SIZES, COUNTS, EDGES, x=x, edge_attr=attr, edge_levels=(4,))
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.tolist() == [[1], [1], [2], [2], [3], [3]]
    assert graphs.edge_dim == 4
    torch.testing.assert_close(graphs.x, torch.from_numpy(x), rtol=0, atol=0)


def test_counts_in_bytes_do_not_overflow() -> None:
    graphs = undirected(
        np.array([200], np.uint8), np.array([199], np.uint8), np.stack([np.arange(199), np.arange(1, 200)])
    )
    assert graphs.num_edges.tolist() == [398]
    assert int(graphs.edge_index.max()) == 199


def test_a_graph_without_edges_has_none() -> None:
    graphs = undirected(np.array([3]), np.array([0]), np.zeros((2, 0), dtype=np.int64), edge_attr=np.zeros((0, 2)))
    assert graphs.edge_index.shape == (2, 0)
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.shape == (0, 2)

"""Edges become pairs, graph after graph in the order in which they come, and values that are merged are averaged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from hypothesis import given
from hypothesis import strategies as st

from engnn.data.own import from_frames

GRAPHS, NODES = 3, 4
ENDS = st.tuples(st.integers(0, GRAPHS - 1), st.integers(0, NODES - 1), st.integers(0, NODES - 1))


@given(st.lists(ENDS, min_size=1, max_size=30), st.permutations(range(GRAPHS * NODES)))
def test_any_table_of_edges_is_what_a_dictionary_makes_of_it(
    rows: list[tuple[int, int, int]], order: list[int]
) -> None:
    """The nodes of the graphs stand in any order in their table, and graphs are numbered as they come there."""
    listed = [divmod(place, NODES) for place in order]  # graph, node
    frame = pd.DataFrame({"graph": [f"g{g}" for g, _ in listed], "id": [f"n{n}" for _, n in listed]})
    weights = [1.0 + number for number in range(len(rows))]
    edges = pd.DataFrame(
        {
            "graph": [f"g{g}" for g, _, _ in rows],
            "source": [f"n{a}" for _, a, _ in rows],
            "target": [f"n{b}" for _, _, b in rows],
            "weight": weights,
        }
    )
    labels = pd.DataFrame({"graph": [f"g{g}" for g in dict.fromkeys(g for g, _ in listed)], "label": [0.5, 1.5, 2.5]})
    graphs = from_frames(edges, frame, graphs=labels).graphs

    number_of = {graph: number for number, graph in enumerate(dict.fromkeys(g for g, _ in listed))}
    places = {g: [n for graph, n in listed if graph == g] for g in number_of}
    expected: dict[tuple[int, frozenset[int]], list[tuple[tuple[int, int], float]]] = {}
    for (g, a, b), weight in zip(rows, weights, strict=True):
        if a != b:
            ends = places[g].index(a), places[g].index(b)
            expected.setdefault((number_of[g], frozenset(ends)), []).append((ends, weight))
    in_order = sorted(expected, key=lambda pair: pair[0])  # stable: within a graph as they come
    assert graphs.num_edges.tolist() == [2 * sum(g == number for g, _ in expected) for number in range(GRAPHS)]
    assert graphs.edge_index[:, ::2].T.tolist() == [list(expected[pair][0][0]) for pair in in_order]
    assert graphs.edge_weight is not None
    means = [np.mean([weight for _, weight in expected[pair]]) for pair in in_order]
    torch.testing.assert_close(graphs.edge_weight[::2], torch.tensor(means, dtype=torch.float32))
    torch.testing.assert_close(graphs.edge_weight[1::2], graphs.edge_weight[::2], rtol=0, atol=0)


def test_what_is_done_to_edges_is_counted() -> None:
    ends = [(0, 1), (1, 0), (0, 1), (2, 2), (3, 4), (5, 4), (5, 4), (4, 5)]
    dataset = from_frames(pd.DataFrame(ends, columns=["source", "target"]), task="link")
    assert dataset.notes[1:5] == (
        "edges are taken as undirected: 3 different pair(s)",
        "2 of them are given in both directions and count once",
        "2 repeated edge(s) merged; weights and features of merged rows are averaged",
        "1 self-loop(s) dropped",
    )

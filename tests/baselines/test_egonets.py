"""Ego nets against networkx."""

from __future__ import annotations

import networkx as nx
import torch
from hypothesis import given
from hypothesis import strategies as st

from engnn.baselines._egonets import ego_nets

GRAPHS = st.builds(nx.gnp_random_graph, st.integers(1, 10), st.floats(0, 0.5), seed=st.integers(0, 99))


@given(GRAPHS, st.integers(0, 3))
def test_they_are_what_networkx_says(graph: nx.Graph, hops: int) -> None:
    edge_index = torch.tensor([*graph.edges, *((j, i) for i, j in graph.edges)], dtype=torch.long).view(-1, 2).T
    nets = ego_nets(edge_index, len(graph), hops)
    pairs = list(zip(nets.root.tolist(), nets.node.tolist(), strict=True))
    for root in graph:
        expected = nx.ego_graph(graph, root, radius=hops)
        far = nx.single_source_shortest_path_length(graph, root, cutoff=hops)
        assert {node for one, node in pairs if one == root} == set(expected)
        assert {node: int(nets.distance[place]) for place, (one, node) in enumerate(pairs) if one == root} == far
        found = [(pairs[p][1], pairs[q][1]) for p, q in nets.edge_index.T.tolist() if pairs[p][0] == root]
        assert sorted(found) == sorted([*expected.edges, *((j, i) for i, j in expected.edges)])
    assert all(pairs[p][0] == pairs[q][0] for p, q in nets.edge_index.T.tolist())
    for (p, q), edge in zip(nets.edge_index.T.tolist(), nets.edge.tolist(), strict=True):
        assert edge_index[:, edge].tolist() == [pairs[p][1], pairs[q][1]]

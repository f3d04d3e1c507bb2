"""ResourceAllocation against networkx."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engnn.baselines._neighbours import common
from engnn.baselines.resource_allocation import share

GRAPHS = st.builds(nx.gnp_random_graph, st.integers(2, 12), st.floats(0, 1), seed=st.integers(0, 99))


@given(GRAPHS)
def test_it_is_what_networkx_says(graph: nx.Graph) -> None:
    edge_index = torch.tensor(list(graph.edges), dtype=torch.long).view(-1, 2).T
    pairs = list(combinations(graph, 2))
    expected = [score for _, _, score in nx.resource_allocation_index(graph, pairs)]
    score = common(edge_index, len(graph), torch.tensor(pairs).T, share)
    assert score.tolist() == pytest.approx(expected, rel=1e-14)

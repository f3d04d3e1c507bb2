"""Common neighbours against networkx, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engnn.baselines import _neighbours
from engnn.baselines._neighbours import common
from engnn.baselines.common_neighbours import CommonNeighbours

GRAPHS = st.builds(nx.gnp_random_graph, st.integers(1, 12), st.floats(0, 1), seed=st.integers(0, 99))


def all_pairs(graph: nx.Graph) -> Tensor:
    return torch.tensor(list(product(graph, graph))).T


@given(GRAPHS)
def test_it_is_what_networkx_counts(graph: nx.Graph) -> None:
    edge_index = torch.tensor(list(graph.edges), dtype=torch.long).view(-1, 2).T
    pairs = all_pairs(graph)
    expected = [len(set(graph[i]) & set(graph[j])) for i, j in pairs.T.tolist()]
    assert common(edge_index, len(graph), pairs, torch.ones_like).tolist() == expected
    for i, j in pairs.T.tolist():
        if i != j:
            assert expected[i * len(graph) + j] == len(list(nx.common_neighbors(graph, i, j)))


def test_double_edges_and_loops_count_as_edges_do_once(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    messy = torch.cat([edges(graph), edges(graph), torch.arange(len(graph)).repeat(2, 1)], dim=1)
    one, other = (common(given, len(graph), all_pairs(graph), torch.ones_like) for given in (edges(graph), messy))
    assert torch.equal(one, other)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_how_many_are_looked_up_at_once_changes_nothing(
    at_once: int, graph: nx.Graph, edges: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = common(edges(graph), len(graph), all_pairs(graph), torch.ones_like)
    monkeypatch.setattr(_neighbours, "AT_ONCE", at_once)
    assert torch.equal(common(edges(graph), len(graph), all_pairs(graph), torch.ones_like), expected)


def test_the_answers_rank_as_the_scores_do_ties_included(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = CommonNeighbours(level="link")
    torch.nn.init.constant_(model.slope, -3.0)
    torch.nn.init.constant_(model.offset, 5.0)
    pairs = all_pairs(graph)
    score = common(edges(graph), len(graph), pairs, torch.ones_like)
    out = model(None, edges(graph), targets=pairs, num_nodes=len(graph))[:, 0]
    assert torch.equal(score.unique(return_inverse=True)[1], out.unique(return_inverse=True)[1])


def test_a_graph_of_drugs_is_scored_below_two_gigabytes(open_or_skip: Callable[..., Any]) -> None:
    open_or_skip("ogbl-ddi")
    code = """
import resource, torch
from engnn.data.catalog import open_dataset
from engnn.baselines._neighbours import common
data = open_dataset("ogbl-ddi")
graph, links = data.graphs, data.links
pairs = torch.cat([links.valid, links.valid_negatives.flatten(1)], dim=1)[:, ::8]
score = common(graph.edge_index, int(graph.num_nodes[0]), pairs, torch.ones_like)
place = torch.randperm(pairs.size(1))[:200]
n = int(graph.num_nodes[0])
dense = torch.zeros(n, n)
dense[graph.edge_index[0], graph.edge_index[1]] = 1
dense = torch.maximum(dense, dense.T)
one, other = pairs[:, place].long()
assert torch.equal(score[place].float(), (dense[one] * dense[other]).sum(1))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 2 << 20

"""Neo-GNN's overlaps are those of its equation, and common neighbours and resource allocation are among them."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines import _neighbours, neo_gnn
from engnn.baselines._egonets import crowded
from engnn.baselines._neighbours import common
from engnn.baselines.neo_gnn import BETA, NeoGNN, overlap
from engnn.baselines.resource_allocation import share


def all_pairs(graph: nx.Graph) -> Tensor:
    return torch.cartesian_prod(torch.arange(len(graph)), torch.arange(len(graph))).T


@pytest.mark.parametrize("at_once", [5, 1 << 22])
@pytest.mark.parametrize("share_of_pairs", [0.1, 0.7])
def test_overlaps_are_those_of_dense_matrices_with_their_gradients(
    at_once: int, share_of_pairs: float, edges: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_neighbours, "AT_ONCE", at_once)
    graph = nx.gnp_random_graph(30, share_of_pairs, seed=0)
    assert crowded(edges(graph), 30) == (share_of_pairs > 0.5)
    a = torch.tensor(nx.to_numpy_array(graph))
    x = torch.randn(len(graph), dtype=torch.double, requires_grad=True)
    m = (a + BETA * a @ a) * x
    expected, found = (m @ m.T).flatten(), overlap(edges(graph), x, all_pairs(graph))
    torch.testing.assert_close(found, expected)
    weight = torch.randn(len(found), dtype=torch.double)
    torch.testing.assert_close(*(torch.autograd.grad(one @ weight, x)[0] for one in (found, expected)))


def test_neighbourhood_scores_are_among_them(
    graph: nx.Graph, edges: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neo_gnn, "BETA", 0.0)
    degree = torch.bincount(edges(graph)[0]).double()
    for weight in (torch.ones_like, share):
        found = overlap(edges(graph), weight(degree).sqrt(), all_pairs(graph))
        torch.testing.assert_close(found, common(edges(graph), len(graph), all_pairs(graph), weight))


def test_it_sees_common_neighbours_where_all_nodes_look_alike(edges: Callable[..., Tensor]) -> None:
    model = NeoGNN(0, 8, 1, 2, level="link").double().eval()
    near, away = model(None, edges(nx.cycle_graph(8)), targets=torch.tensor([[0, 0], [2, 4]]))
    assert (near - away).abs() > 1e-3

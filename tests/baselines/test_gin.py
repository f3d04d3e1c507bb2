"""GIN sums over neighbours, so it sees what means do not, and no more than colour refinement."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.gin import GIN


@pytest.fixture
def model() -> GIN:
    torch.manual_seed(0)
    return GIN(0, 8, 2, 3, level="graph").double().eval()


def test_it_is_its_equation(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = GIN(3, 8, 2, 1, level="node").double().eval()
    torch.nn.init.constant_(model.convs[0].eps, 0.3)
    x = torch.randn(len(graph), 3, dtype=torch.double)
    first = model.lin(x)
    second = model.convs[0].nn(1.3 * first + torch.tensor(nx.to_numpy_array(graph)) @ first)
    torch.testing.assert_close(model(x, edges(graph)), model.jump(torch.cat([first, second], dim=1)))


def test_it_tells_a_ring_from_a_clique_and_one_ring_from_two(model: GIN, edges: Callable[..., Tensor]) -> None:
    ring, clique = model(None, edges(nx.cycle_graph(6))), model(None, edges(nx.complete_graph(6)))
    assert (ring - clique).abs().max() > 1e-3
    assert (ring - model(None, edges(nx.cycle_graph(12)))).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        (nx.circular_ladder_graph(4), nx.circulant_graph(8, [1, 4])),  # both 3-regular, not isomorphic
    ],
)
def test_it_cannot_tell_what_colour_refinement_cannot(
    one: nx.Graph, other: nx.Graph, model: GIN, edges: Callable[..., Tensor]
) -> None:
    assert not nx.is_isomorphic(one, other)
    torch.testing.assert_close(model(None, edges(one)), model(None, edges(other)))


def test_edge_features_make_a_difference_where_it_takes_them(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    torch.manual_seed(0)
    model = GIN(0, 8, 2, 2, level="graph", edge_dim=1).double().eval()
    attr = torch.rand(edges(graph).size(1), 1, dtype=torch.double)
    out = [model(None, edges(graph), edge_attr=one) for one in (attr, attr + 1)]
    assert (out[0] - out[1]).abs().max() > 1e-6

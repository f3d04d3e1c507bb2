"""DropGNN is GIN where nothing is dropped, drops what it should, and tells apart what GIN cannot."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.dropgnn import DropGNN
from engnn.baselines.gin import GIN


@pytest.fixture
def model() -> DropGNN:
    torch.manual_seed(0)
    return DropGNN(0, 8, 1, 3, level="graph", noise_channels=200, degree=3.0).double().eval()


def test_it_is_gin_where_nothing_is_dropped(model: DropGNN, graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    x, every = torch.ones(len(graph), 1, dtype=torch.double), torch.ones(len(graph), 2, dtype=torch.double)
    torch.testing.assert_close(model(x, edges(graph), noise=every), model.gin(x, edges(graph)))


def test_a_run_sees_zeros_where_nodes_are_dropped(
    model: DropGNN, graph: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    x = torch.ones(len(graph), 1, dtype=torch.double)
    noise = torch.ones(len(graph), 1, dtype=torch.double)
    noise[::2] = -1.7
    without = x * (noise > 0)
    torch.testing.assert_close(model(x, edges(graph), noise=noise), model.gin(without, edges(graph)))


def test_nodes_are_dropped_as_often_as_they_should(model: DropGNN) -> None:
    noise = model.sample_noise(500, seed=0)
    share = float(((noise / 3**0.5 + 1) / 2 < model.dropped).double().mean())
    assert model.dropped == 0.25
    assert abs(share - 0.25) < 5 * (0.25 * 0.75 / noise.numel()) ** 0.5


def test_it_learns_to_tell_a_hexagon_from_two_triangles(told_apart: Callable[..., float]) -> None:
    torch.manual_seed(0)
    pair = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert told_apart(DropGNN(0, 16, 1, 3, level="graph", noise_channels=20, degree=3.0).double(), *pair) > 0.8
    assert told_apart(GIN(0, 16, 1, 3, level="graph").double(), *pair) == 0.5

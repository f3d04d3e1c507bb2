"""MPLP's estimates of common neighbours are right on average, and as far off as their theory says."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines import mplp
from engnn.baselines._egonets import crowded
from engnn.baselines.mplp import MPLP, estimates, variance

DRAWS, CHANNELS = 400, 32


def exact(graph: nx.Graph, pairs: Tensor) -> Tensor:
    """The counts that are estimated, by networkx."""
    far = dict(nx.all_pairs_shortest_path_length(graph))
    at = [{node: {other for other, d in far[node].items() if d == p} for node in graph} for p in (1, 2)]
    rows = []
    for i, j in pairs.T.tolist():
        n = [[len(at[p][i] & at[q][j]) for q in range(2)] for p in range(2)]
        rows.append([n[0][0], n[0][1] + n[1][0], n[1][1], *(len(at[p][i]) + len(at[p][j]) for p in range(2))])
    return torch.tensor(rows).double()


def test_estimates_are_right_on_average_with_the_spread_of_their_theory(
    graph: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    pairs = torch.tensor([[i, j] for i in range(10) for j in range(i)]).T
    model = MPLP(0, 8, 1, 1, level="link", noise_channels=CHANNELS).double()
    signatures = [model.sample_noise(len(graph), seed=0, draw=draw) / CHANNELS**0.5 for draw in range(DRAWS)]
    found = torch.stack([estimates(edges(graph), one, pairs) for one in signatures])
    wanted = exact(graph, pairs)
    error = (found.mean(0) - wanted).abs() / (found.var(0) / DRAWS).sqrt().clamp(min=1e-9)
    assert error.max() < 5
    assert torch.equal(found[0, :, 3:], wanted[:, 3:])  # sizes are no estimates
    theory = torch.tensor(
        [
            variance(graph.degree[i], graph.degree[j], int(row[0]))
            for (i, j), row in zip(pairs.T.tolist(), wanted, strict=True)
        ]
    )
    ratio = CHANNELS * found[:, :, 0].var(0) / theory.clamp(min=1e-9)
    assert (ratio[theory > 0] - 1).abs().max() < 6 * (2 / DRAWS) ** 0.5 + 0.1


def test_no_estimate_hangs_on_how_many_nodes_are_near_or_pairs_at_once(
    edges: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where walks are more than pairs, matrices are dense."""
    graph = nx.gnp_random_graph(30, 0.7, seed=0)
    messy = torch.cat([edges(graph), edges(graph)[:, :9], torch.arange(30).repeat(2, 1)], dim=1)
    pairs = torch.tensor([[i, j] for i in range(30) for j in range(i)]).T
    signature = torch.randn(30, 16, dtype=torch.double)
    assert crowded(messy, 30)
    dense = estimates(messy, signature, pairs)
    torch.testing.assert_close(dense[:, 3:], exact(graph, pairs)[:, 3:])
    monkeypatch.setattr(mplp, "crowded", lambda *_: False)
    monkeypatch.setattr(mplp, "AT_ONCE", 100)
    torch.testing.assert_close(estimates(messy, signature, pairs), dense)


def test_more_channels_come_nearer(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    pairs = torch.tensor([[i, j] for i in range(len(graph)) for j in range(i)]).T
    far = []
    for channels in (16, 256, 4096):
        model = MPLP(0, 8, 1, 1, level="link", noise_channels=channels).double()
        signature = model.sample_noise(len(graph), seed=1) / channels**0.5
        far.append(float((estimates(edges(graph), signature, pairs) - exact(graph, pairs)).square().mean().sqrt()))
    assert 3 < far[0] / far[1] < 5.3  # √16 = 4
    assert 3 < far[1] / far[2] < 5.3


def test_it_sees_common_neighbours_where_all_nodes_look_alike(edges: Callable[..., Tensor]) -> None:
    ring = edges(nx.cycle_graph(8))
    model = MPLP(0, 8, 1, 2, level="link", noise_channels=256).double().eval()
    near, away = model(None, ring, targets=torch.tensor([[0, 0], [2, 4]]), noise=3)
    assert (near - away).abs() > 1e-3

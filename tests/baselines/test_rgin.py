"""rGIN is GIN on random features, as the variant nmpnn is mpnn on them; it tells apart what GIN cannot."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.gin import GIN
from engnn.baselines.rgin import RGIN
from engnn.nn.model import ENGNN


def test_it_is_gin_with_the_noise_as_features(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = RGIN(3, 8, 2, 2, level="node", noise_channels=4).double().eval()
    x, noise = torch.randn(len(graph), 3, dtype=torch.double), torch.randn(len(graph), 4, dtype=torch.double)
    gin = GIN(7, 8, 2, 2, level="node").double().eval()
    gin.load_state_dict(model.gin.state_dict())
    out = model(x, edges(graph), noise=noise)
    assert torch.equal(out, gin(torch.cat([x, noise], dim=1), edges(graph)))


def test_nmpnn_is_mpnn_with_the_noise_as_features(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    """So nmpnn does to engnn's convolution what rGIN does to GIN's."""
    settings = {"noise_channels": 4, "noise_dim": 4, "noise": "normal", "level": "node"}
    torch.manual_seed(0)
    nmpnn = ENGNN(3, 8, 2, 2, variant="nmpnn", **settings).double().eval()
    mpnn = ENGNN(7, 8, 2, 2, variant="mpnn", **settings).double().eval()
    mpnn.load_state_dict(nmpnn.state_dict())
    x, noise = torch.randn(len(graph), 3, dtype=torch.double), torch.randn(len(graph), 4, dtype=torch.double)
    out = nmpnn(x, edges(graph), noise=noise)
    torch.testing.assert_close(out, mpnn(torch.cat([x, noise], dim=1), edges(graph)))
    assert (out - nmpnn(x, edges(graph), noise=-noise)).abs().max() > 1e-3


def test_it_learns_to_tell_a_hexagon_from_two_triangles(told_apart: Callable[..., float]) -> None:
    torch.manual_seed(0)
    pair = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert told_apart(RGIN(0, 16, 1, 3, level="graph", noise_channels=8).double(), *pair) > 0.8
    assert told_apart(GIN(0, 16, 1, 3, level="graph").double(), *pair) == 0.5

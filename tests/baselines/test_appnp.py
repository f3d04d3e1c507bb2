"""APPNP's steps lead to the personalised PageRank of the predictions."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.appnp import ALPHA, APPNP


def test_many_steps_come_to_the_closed_form(
    graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]
) -> None:
    x = torch.randn(len(graph), 3, dtype=torch.double)
    far = []
    for steps in (1, 10, 100, 400):
        torch.manual_seed(0)
        model = APPNP(3, 8, 2, steps, level="node").double().eval()
        limit = ALPHA * torch.linalg.inv(torch.eye(len(x)) - (1 - ALPHA) * walk(graph, loops=True)) @ model.mlp(x)
        far.append(float((model(x, edges(graph)) - limit).detach().abs().max()))
    assert far == sorted(far, reverse=True)
    assert far[0] > 1e-3
    assert far[-1] < 1e-12

"""GPRGNN begins as APPNP, and learns filters that let low, high or middle frequencies pass."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.appnp import APPNP
from engnn.baselines.gprgnn import GPRGNN

FILTERS = {
    "low": lambda value: (-4 * value**2).exp(),
    "high": lambda value: 1 - (-4 * value**2).exp(),
    "band": lambda value: (-10 * (value - 0.7) ** 2).exp(),
}


def test_it_begins_as_personalised_pagerank(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model, other = GPRGNN(3, 8, 2, 7, level="node").double(), APPNP(3, 8, 2, 7, level="node").double()
    h = torch.randn(len(graph), 4, dtype=torch.double)
    torch.testing.assert_close(model.filter(h, edges(graph)), other.propagate(h, edges(graph)))


@pytest.mark.parametrize("name", FILTERS)
def test_it_learns_to_pass_frequencies(
    name: str, graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]
) -> None:
    values, vectors = torch.linalg.eigh(torch.eye(len(graph)).double() - walk(graph, loops=True))
    wanted = vectors @ torch.diag(FILTERS[name](values)) @ vectors.T
    model = GPRGNN(1, 1, 1, 10, level="node").double()
    signal = torch.eye(len(graph)).double()
    far = learnt(model, model.gamma, lambda: model.filter(signal, edges(graph)), wanted)
    assert far[-1] < 0.1 * far[0]
    assert far[-1] < 0.03
    if name != "low":
        assert model.gamma.min() < 0  # what no average over neighbours can do


def learnt(model: GPRGNN, weights: Tensor, run: Callable[[], Tensor], wanted: Tensor) -> list[float]:
    """Root mean square errors, relative to what is wanted, before and after the weights are fitted."""

    def far() -> Tensor:
        return (run() - wanted).square().sum() / wanted.square().sum()

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = far()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer = torch.optim.LBFGS([weights], max_iter=500, line_search_fn="strong_wolfe", tolerance_change=1e-14)
    before = float(far().detach().sqrt())
    optimizer.step(step)
    return [before, float(far().detach().sqrt())]

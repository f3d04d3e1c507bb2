"""BernNet begins as what changes nothing, its weights are its values, and it learns filters of any band."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from scipy.special import comb
from torch import Tensor

from engnn.baselines.bernnet import BernNet

FILTERS = {
    "low": lambda value: (-4 * value**2).exp(),
    "high": lambda value: 1 - (-4 * value**2).exp(),
    "band": lambda value: (-6 * (value - 1) ** 2).exp(),
    "reject": lambda value: 1 - (-6 * (value - 1) ** 2).exp(),
}


@pytest.mark.parametrize("degree", [1, 2, 7, 10])
def test_it_begins_as_what_changes_nothing(degree: int, graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = BernNet(3, 8, 2, degree, level="node").double()
    h = torch.randn(len(graph), 4, dtype=torch.double)
    torch.testing.assert_close(model.filter(h, edges(graph)), h)


def test_it_is_its_equation_in_the_eigenvalues(
    graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]
) -> None:
    degree = 6
    model = BernNet(3, 8, 2, degree, level="node").double()
    theta = torch.tensor([0.1, 2.0, -1.0, 0.0, 0.7, 1.5, 0.4]).double()
    model.theta.data = theta
    values, vectors = torch.linalg.eigh(torch.eye(len(graph)).double() - walk(graph, loops=False))
    response = sum(
        theta[k].clamp(min=0) * comb(degree, k) * (2 - values) ** (degree - k) * values**k / 2**degree
        for k in range(degree + 1)
    )
    signal = torch.eye(len(graph)).double()
    torch.testing.assert_close(model.filter(signal, edges(graph)), vectors @ torch.diag(response) @ vectors.T)


@pytest.mark.parametrize("name", FILTERS)
def test_it_learns_to_pass_frequencies(name: str, edges: Callable[..., Tensor], walk: Callable[..., Tensor]) -> None:
    ring = nx.cycle_graph(24)  # its frequencies are spread from 0 to 2
    values, vectors = torch.linalg.eigh(torch.eye(len(ring)).double() - walk(ring, loops=False))
    wanted = vectors @ torch.diag(FILTERS[name](values)) @ vectors.T
    model = BernNet(1, 1, 1, 10, level="node").double()
    signal = torch.eye(len(ring)).double()

    def far() -> Tensor:
        return (model.filter(signal, edges(ring)) - wanted).square().sum() / wanted.square().sum()

    optimizer = torch.optim.Adam([model.theta], 0.05)
    before = float(far().detach().sqrt())
    for _ in range(400):
        optimizer.zero_grad()
        loss = far()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    after = float(far().detach().sqrt())
    assert after < 0.2
    assert after < 0.5 * before

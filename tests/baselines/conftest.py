"""Graphs, and their matrices, for the tests of the baselines."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

Edges = Callable[[nx.Graph], Tensor]


@pytest.fixture(scope="session")
def edges() -> Edges:
    """`edges(graph)`: the edge index of a graph whose nodes are 0, 1, …; each edge twice."""

    def of(graph: nx.Graph) -> Tensor:
        one = torch.tensor([(i, j) for i, j in graph.edges if i != j], dtype=torch.long).view(-1, 2).T
        return torch.cat([one, one.flip(0)], dim=1)

    return of


@pytest.fixture(scope="session")
def graph() -> nx.Graph:
    """A graph with many degrees."""
    return nx.barabasi_albert_graph(30, 2, seed=0)


@pytest.fixture(scope="session")
def walk() -> Callable[..., Tensor]:
    """`walk(graph, loops=True)`: the matrix D⁻¹ᐟ² (A + I) D⁻¹ᐟ², or without I, in double precision."""

    def of(graph: nx.Graph, *, loops: bool) -> Tensor:
        a = torch.tensor(nx.to_numpy_array(graph, nodelist=sorted(graph), weight=None))
        a = a + torch.eye(len(a)).double() * loops
        scale = a.sum(1).clamp(min=1e-300).rsqrt().nan_to_num(posinf=0.0)
        return scale[:, None] * a * scale

    return of

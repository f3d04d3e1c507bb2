"""Graphs, and their matrices, for the tests of the baselines."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor, nn

Edges = Callable[[nx.Graph], Tensor]


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same initial weights each time."""
    torch.manual_seed(0)


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


@pytest.fixture(scope="session")
def told_apart(edges: Edges) -> Callable[..., float]:
    """`told_apart(model, one, other)`: how often a model says which of two graphs it sees, once it has learnt to."""

    def share(model: nn.Module, one: nx.Graph, other: nx.Graph, *, steps: int = 150, copies: int = 32) -> float:
        graphs = [one, other] * (copies // 2)
        whole = nx.disjoint_union_all(graphs)
        edge_index, n = edges(whole), len(whole)
        batch = torch.arange(copies).repeat_interleave(torch.tensor([len(graph) for graph in graphs]))
        label = torch.arange(copies, dtype=torch.double)[:, None] % 2
        optimizer = torch.optim.Adam(model.parameters(), 5e-3)

        def run(seed: int) -> Tensor:
            out: Tensor = model(None, edge_index, batch=batch, size=copies, num_nodes=n, noise=seed)
            return out

        for step in range(steps):
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(run(step), label).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = [((run(10_000 + seed) > 0) == (label > 0)).double().mean() for seed in range(4)]
        return float(torch.stack(right).mean())

    return share


@pytest.fixture(scope="session")
def rook() -> nx.Graph:
    """The 4 × 4 rook's graph: strongly regular, with the parameters of the Shrikhande graph."""
    return nx.convert_node_labels_to_integers(nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4)))


@pytest.fixture(scope="session")
def shrikhande() -> nx.Graph:
    """The Shrikhande graph: on Z₄ × Z₄, joined where the difference is ±(0, 1), ±(1, 0) or ±(1, 1)."""
    steps = [(0, 1), (1, 0), (1, 1)]
    ends = [((a, b), ((a + c) % 4, (b + d) % 4)) for a in range(4) for b in range(4) for c, d in steps]
    return nx.convert_node_labels_to_integers(nx.Graph(ends), ordering="sorted")


@pytest.fixture
def miscounted(edges: Edges) -> Callable[[nn.Module, int], float]:
    """`miscounted(model, length)`: by how much a model still errs that was taught to count cycles at each node.

    All nodes of the graphs have three neighbours, so that they look alike to plain message passing.
    """

    def of(model: nn.Module, length: int) -> float:
        graph = nx.disjoint_union_all([nx.random_regular_graph(3, 10, seed=seed) for seed in range(8)])
        cycles = [cycle for cycle in nx.simple_cycles(graph, length_bound=length) if len(cycle) == length]
        target = torch.bincount(torch.tensor(cycles).flatten(), minlength=len(graph)).double()
        assert target.std() > 0.3
        edge_index = edges(graph)
        torch.manual_seed(0)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        for _ in range(120):
            optimizer.zero_grad()
            loss = (model(None, edge_index)[:, 0] - target).abs().mean()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        return float((model(None, edge_index)[:, 0] - target).detach().abs().mean())

    return of

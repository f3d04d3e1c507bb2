"""Fast = reference: the layers of `engnn.nn` give the values and the gradients of the loops in `engnn.reference`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engnn import noise as noises
from engnn import reference
from engnn.nn import ENGNN, ORTHOGONAL, PERMUTATION, ENConv, EquivariantAggregator
from engnn.reference import Edge, Weights

GROUPS = {"permutation": (PERMUTATION, reference.PERMUTATION), "orthogonal": (ORTHOGONAL, reference.ORTHOGONAL)}

# graphs as (number of nodes, edges): a path with a self-loop and a doubled edge, no nodes at all, one node, a pair
# apart and a hub with more neighbours than are typical, and at the end again no nodes
BATCH: list[tuple[int, list[tuple[int, int]]]] = [
    (4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 1), (3, 3)]),
    (0, []),
    (1, []),
    (9, [(0, 1), (1, 0), *((i, 2) for i in range(3, 9)), *((2, i) for i in range(3, 9))]),
    (0, []),
]


def batch() -> tuple[Tensor, Tensor, list[list[int]]]:
    """`edge_index`, `batch`, and the nodes of each graph."""
    start, edges, graphs = 0, [], []
    for size, pairs in BATCH:
        edges += [(start + i, start + j) for i, j in pairs]
        graphs.append(list(range(start, start + size)))
        start += size
    owner = torch.tensor([number for number, nodes in enumerate(graphs) for _ in nodes])
    return torch.tensor(edges).T, owner, graphs


def loop_edges(edge_index: Tensor, edge_attr: Tensor | None) -> list[Edge]:
    pairs = edge_index.T.tolist()
    return [(i, j, None if edge_attr is None else edge_attr[e]) for e, (i, j) in enumerate(pairs)]


def as_lists(x: Tensor, z: Tensor) -> tuple[list[Tensor], list[list[Tensor]]]:
    return list(x), [list(node) for node in z]


def assert_same(fast: Tensor, slow: Tensor, inputs: list[Tensor], module: nn.Module) -> None:
    """Values, and the gradients of a random number made of them, to a relative error of 1e-12."""
    assert fast.shape == slow.shape
    assert (fast - slow).abs().max() <= 1e-12 * slow.abs().max()
    direction = torch.randn(slow.shape, dtype=torch.float64)
    wanted = [*inputs, *module.parameters()]
    ours = torch.autograd.grad((fast * direction).sum(), wanted, allow_unused=True)
    theirs = torch.autograd.grad((slow * direction).sum(), wanted, allow_unused=True)
    scale = max(float(g.abs().max()) for g in theirs if g is not None)
    for ours_one, theirs_one, weight in zip(ours, theirs, wanted, strict=True):
        zero = torch.zeros_like(weight)
        error = ((zero if ours_one is None else ours_one) - (zero if theirs_one is None else theirs_one)).abs().max()
        assert error <= 1e-12 * scale


def stacked(x: list[Tensor], z: list[list[Tensor]]) -> Tensor:
    return torch.cat([torch.stack(x).flatten(), torch.stack([torch.stack(node) for node in z]).flatten()])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("symmetry", GROUPS)
def test_aggregator_is_the_reference_on_every_set(symmetry: str, channels: int) -> None:
    torch.manual_seed(0)
    ours, theirs = GROUPS[symmetry]
    _, owner, graphs = batch()
    layer = EquivariantAggregator(2, 5, 3, 4, typical=2.0, symmetry=ours).double()
    x = torch.randn(len(owner), 2, dtype=torch.float64, requires_grad=True)
    z = torch.randn(len(owner), channels, 3, dtype=torch.float64, requires_grad=True)
    x2, z2 = layer(x, z, owner, len(graphs))
    slow = []
    for nodes in graphs:
        xs, zs = as_lists(x[nodes], z[nodes])
        slow.append(reference.aggregator(Weights.of(layer), xs, zs, channels, 2.0, theirs))
    flat = stacked([v for xs, _ in slow for v in xs], [v for _, zs in slow for v in zs])
    assert_same(torch.cat([x2.flatten(), z2.flatten()]), flat, [x, z], layer)


@pytest.mark.parametrize(
    ("symmetry", "edge_dim", "noise_messages"), list(itertools.product(GROUPS, [None, 2], [True, False]))
)
def test_conv_is_the_reference(symmetry: str, edge_dim: int | None, noise_messages: bool) -> None:
    torch.manual_seed(1)
    ours, theirs = GROUPS[symmetry]
    edge_index, owner, graphs = batch()
    about: dict[str, Any] = {"noise_messages": noise_messages, "degree": 3.0, "typical": 5.0}
    layer = ENConv(2, 4, 3, 2, edge_dim=edge_dim, symmetry=ours, **about).double()
    x = torch.randn(len(owner), 2, dtype=torch.float64, requires_grad=True)
    z = torch.randn(len(owner), 3, 3, dtype=torch.float64, requires_grad=True)
    attr = None if edge_dim is None else torch.randn(edge_index.size(1), edge_dim, dtype=torch.float64)
    x2, z2 = layer(x, z, edge_index, attr, owner, len(graphs))
    xs, zs = as_lists(x, z)
    edges = loop_edges(edge_index, attr)
    slow = reference.conv(Weights.of(layer), xs, zs, edges, graphs, channels=3, symmetry=theirs, **about)
    assert_same(torch.cat([x2.flatten(), z2.flatten()]), stacked(*slow), [x, z], layer)


TARGETS: dict[str, tuple[Any, list[tuple[int, list[int] | None]]]] = {
    "node": (torch.tensor([13, 0, 4]), [(3, [13]), (0, [0]), (2, [4])]),
    "link": (torch.tensor([[0, 5, 7], [2, 13, 7]]), [(0, [0, 2]), (3, [5, 13]), (3, [7, 7])]),
    "subgraph": (
        (torch.tensor([0, 1, 3, 4, 6, 6]), torch.tensor([0, 0, 0, 1, 3, 3]), 4),
        [(0, [0, 1, 3]), (2, [4]), (0, []), (3, [6, 6])],
    ),
    "graph": (None, [(number, None) for number in range(len(BATCH))]),
}


@pytest.mark.parametrize("symmetry", ["permutation", "orthogonal", "none"])
@pytest.mark.parametrize("level", TARGETS)
def test_model_is_the_reference_at_every_level(level: Any, symmetry: Any) -> None:
    torch.manual_seed(2)
    edge_index, owner, graphs = batch()
    given, sets = TARGETS[level]
    kind, channels, layers = "onehot+normal", 3, 2
    model = ENGNN(
        2,
        5,
        2,
        layers,
        noise_channels=channels,
        noise_dim=4,
        noise=kind,
        symmetry=symmetry,
        edge_dim=1,
        level=level,
        feature_scale=3.0,
    ).double()
    x = torch.randn(len(owner), 2, dtype=torch.float64, requires_grad=True)
    attr = torch.randn(edge_index.size(1), 1, dtype=torch.float64)
    noise = noises.sample(kind, len(owner), channels, seed=3, batch=owner, dtype=torch.float64)
    fast = model(x, edge_index, edge_attr=attr, batch=owner, size=len(graphs), targets=given, noise=noise)
    of_mean_square_one = noise * torch.tensor([channels**0.5, 1.0], dtype=torch.float64)
    slow = reference.engnn(
        Weights.of(model),
        x,
        of_mean_square_one,
        loop_edges(edge_index, attr),
        graphs,
        sets,
        layers=layers,
        link=level == "link",
        feature_scale=3.0,
        symmetry=None if symmetry == "none" else GROUPS[symmetry][1],
    )
    assert_same(fast, slow, [x], model)


@pytest.mark.parametrize("symmetry", GROUPS)
def test_mpnn_is_the_model_with_all_its_channels_at_zero(symmetry: Any) -> None:
    """It computes one channel that stands for all; the reference computes them all."""
    torch.manual_seed(2)
    edge_index, owner, graphs = batch()
    given, sets = TARGETS["subgraph"]
    about: dict[str, Any] = {"noise_channels": 3, "noise_dim": 4, "level": "subgraph", "symmetry": symmetry}
    model = ENGNN(2, 5, 2, 2, variant="mpnn", **about).double()
    x = torch.randn(len(owner), 2, dtype=torch.float64, requires_grad=True)
    fast = model(x, edge_index, batch=owner, size=len(graphs), targets=given)
    zero = torch.zeros(len(owner), 3, 2, dtype=torch.float64)
    edges = loop_edges(edge_index, None)
    slow = reference.engnn(Weights.of(model), x, zero, edges, graphs, sets, layers=2, symmetry=GROUPS[symmetry][1])
    assert_same(fast, slow, [x], model)


def test_a_wrong_scale_would_be_seen() -> None:
    """A negative control: the comparison rejects a layer that differs in τ alone."""
    torch.manual_seed(4)
    layer = EquivariantAggregator(2, 5, 3, 4, typical=2.0).double()
    x, z = torch.randn(4, 2, dtype=torch.float64), torch.randn(4, 3, 3, dtype=torch.float64)
    fast = torch.cat([value.flatten() for value in layer(x, z)])
    slow = stacked(*reference.aggregator(Weights.of(layer), *as_lists(x, z), 3, 5.0, reference.PERMUTATION))
    with pytest.raises(AssertionError):
        assert_same(fast, slow, [], layer)

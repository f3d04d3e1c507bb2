"""BUDDY's sketches estimate sizes and intersections of neighbourhoods, as far off as their theory says."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines import buddy
from engnn.baselines._model import Given
from engnn.baselines.buddy import BUDDY, REGISTERS, cardinality, distances, intersection, sketches

DRAWS, HASHES = 200, 32


def balls(graph: nx.Graph) -> list[list[set[int]]]:
    """Of each radius the ball around each node."""
    far = dict(nx.all_pairs_shortest_path_length(graph, cutoff=2))
    return [[{other for other, d in far[node].items() if d <= r} for node in sorted(graph)] for r in (1, 2)]


def drawn(graph: nx.Graph, edges: Callable[..., Tensor], draw: int, *, hashes: int = HASHES) -> list:
    model = BUDDY(0, 8, 1, level="link", noise_channels=hashes).double()
    return sketches(edges(graph), model.sample_noise(len(graph), seed=0, draw=draw))


def test_a_minhash_is_right_on_average_with_the_variance_of_a_binomial(
    graph: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    pairs = torch.tensor([[i, j] for i in range(8) for j in range(i)]).T
    one, two = balls(graph)
    shares = [len(one[i] & two[j]) / len(one[i] | two[j]) for i, j in pairs.T.tolist()]
    wanted = torch.tensor(shares).double()
    found = torch.stack(
        [
            (radius[0].least[pairs[0]] == radius[1].least[pairs[1]]).double().mean(1)
            for radius in (drawn(graph, edges, draw) for draw in range(DRAWS))
        ]
    )
    theory = wanted * (1 - wanted) / HASHES
    assert ((found.mean(0) - wanted).abs() < 5 * (theory / DRAWS).sqrt() + 1e-12).all()
    ratio = found.var(0)[theory > 0] / theory[theory > 0]
    assert (ratio - 1).abs().max() < 6 * (2 / DRAWS) ** 0.5


def test_sizes_are_as_near_as_hyperloglog_comes() -> None:
    generator = torch.Generator().manual_seed(0)
    for size in (20, 200, 2_000, 20_000):
        errors = []
        for _ in range(60):
            register = torch.randint(REGISTERS, (size,), generator=generator)
            rank = (-torch.rand(size, generator=generator, dtype=torch.double).log2()).floor() + 1
            ranks = torch.zeros(REGISTERS, dtype=torch.double).scatter_reduce(0, register, rank, "amax")
            errors.append(float(cardinality(ranks)) / size - 1)
        error = torch.tensor(errors)
        expected = 1.04 / REGISTERS**0.5
        assert abs(error.mean()) < 5 * expected / 60**0.5
        assert error.square().mean().sqrt() < 1.5 * expected


def test_intersections_and_distances_are_near_the_exact_ones(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    pairs = torch.tensor([[i, j] for i in range(12) for j in range(i)]).T
    one, two = balls(graph)
    sketched = drawn(graph, edges, 0, hashes=4096)
    found = intersection(sketched[0], sketched[1], *pairs)
    wanted = torch.tensor([len(one[i] & two[j]) for i, j in pairs.T.tolist()]).double()
    assert ((found - wanted).abs() < 0.15 * wanted + 1).all()
    rows = []
    for i, j in pairs.T.tolist():
        shells = [[ball[0][node], ball[1][node] - ball[0][node]] for ball, node in (((one, two), i), ((one, two), j))]
        n = [[len(p & q) for q in shells[1]] for p in shells[0]]
        row = [n[0][0], n[0][1] + n[1][0], abs(n[0][1] - n[1][0]), n[1][1]]
        for p in range(2):
            row += sorted([len(shells[0][p]) - sum(n[p]), len(shells[1][p]) - n[0][p] - n[1][p]])
        rows.append(row)
    off = (distances(sketched, pairs) - torch.tensor(rows)).abs()
    assert off.mean() < 1.0
    assert off.max() < 6.0


def test_features_are_those_averaged_beforehand(
    graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]
) -> None:
    model = BUDDY(3, 8, 1, level="link", noise_channels=4).double().eval()
    x, a = torch.randn(len(graph), 3, dtype=torch.double), walk(graph, loops=True)
    weight = torch.cat([lin.weight for lin in model.lins], dim=1)
    expected = (torch.cat([x, a @ x, a @ a @ x], dim=1) @ weight.T + model.lins[0].bias).relu()
    zero = torch.zeros(len(graph), dtype=torch.long)
    torch.testing.assert_close(model.encode(Given(x, edges(graph), None, zero, 1, None, None)), expected)


def test_a_link_has_no_direction(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = BUDDY(0, 8, 1, level="link", noise_channels=16).double().eval()
    pairs = torch.tensor([[0, 3, 5], [7, 1, 20]])
    out, back = (model(None, edges(graph), targets=one, noise=1) for one in (pairs, pairs.flip(0)))
    torch.testing.assert_close(out, back)


def test_how_many_columns_are_sent_at_once_changes_nothing(
    graph: nx.Graph, edges: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = drawn(graph, edges, 0)
    monkeypatch.setattr(buddy, "AT_ONCE", 3 * edges(graph).size(1))
    for one, other in zip(drawn(graph, edges, 0), expected, strict=True):
        assert torch.equal(one.least, other.least)
        assert torch.equal(one.ranks, other.ranks)

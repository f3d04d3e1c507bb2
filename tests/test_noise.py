"""Every p-value here is compared with LEVEL; seeds are fixed, so a test that passes once passes always."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from engnn import noise
from engnn.errors import InputError

LEVEL = 1e-4
KINDS = noise.KINDS
RANDOM = tuple(kind for kind in KINDS if kind != "zero")
SUMS = (*KINDS, "onehot+normal", "orthogonal+onehot+uniform")
INDEPENDENT = {  # the cumulative distribution of one value
    "normal": stats.norm.cdf,
    "uniform": stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)).cdf,
}

words = st.integers(-(2**63), 2**63 - 1)


def graphs(kind: str, n: int, channels: int, count: int, draw: int = 0) -> Tensor:
    """`[count, n, C]`: the noise of `count` graphs of n nodes."""
    batch, names = torch.arange(count).repeat_interleave(n), torch.arange(count)
    z = noise.sample(kind, len(batch), channels, seed=0, draw=draw, batch=batch, graph_id=names, dtype=torch.double)
    return z.view(count, n, channels)


# The value is a function of (seed, draw, graph id, node id, channel).


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], Tensor, Tensor]:
    """Sizes of some graphs (also 0), their names, and the graph of each node in any order of the nodes."""
    sizes = draw(st.lists(st.integers(0, 11), min_size=1, max_size=5))
    names = draw(st.lists(words, min_size=len(sizes), max_size=len(sizes), unique=True))
    batch = draw(st.permutations([graph for graph, size in enumerate(sizes) for _ in range(size)]))
    return sizes, torch.tensor(names), torch.tensor(batch, dtype=torch.long)


@given(batches(), st.sampled_from(SUMS), st.integers(1, 6), words, words)
def test_a_graph_has_the_same_noise_in_every_batch(
    some: tuple[list[int], Tensor, Tensor], kind: str, channels: int, seed: int, draw: int
) -> None:
    sizes, names, batch = some
    together = noise.sample(kind, len(batch), channels, seed=seed, draw=draw, batch=batch, graph_id=names)
    for graph, size in enumerate(sizes):
        alone = torch.zeros(size, dtype=torch.long)
        own = noise.sample(kind, size, channels, seed=seed, draw=draw, batch=alone, graph_id=names[graph : graph + 1])
        assert torch.equal(together[batch == graph], own)


@pytest.mark.parametrize("kind", ["normal", "uniform", "rademacher"])
def test_a_value_depends_neither_on_other_nodes_nor_on_other_channels(kind: str) -> None:
    large = noise.sample(kind, 50, 9, seed=3, draw=4)
    assert torch.equal(noise.sample(kind, 20, 5, seed=3, draw=4), large[:20, :5])


def test_graphs_are_called_by_their_numbers_unless_named() -> None:
    batch = torch.tensor([0, 0, 2, 2, 2])
    unnamed = noise.sample("normal", 5, 3, seed=0, batch=batch)
    assert torch.equal(unnamed, noise.sample("normal", 5, 3, seed=0, batch=batch, graph_id=torch.arange(3)))
    assert torch.equal(unnamed[:2], noise.sample("normal", 2, 3, seed=0))


@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_precision_has_the_same_values_rounded(kind: str, dtype: torch.dtype) -> None:
    exact = noise.sample(kind, 9, 4, seed=1, dtype=torch.float64)
    assert torch.equal(noise.sample(kind, 9, 4, seed=1, dtype=dtype), exact.to(dtype))
    assert noise.sample(kind, 9, 4, seed=1).dtype == torch.get_default_dtype()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
@pytest.mark.parametrize("kind", SUMS)
def test_every_device_has_the_same_values(kind: str) -> None:
    batch, names = torch.arange(40) % 3, torch.tensor([5, -(2**40), 7])
    here = noise.sample(kind, 40, 6, seed=1, draw=2, batch=batch, graph_id=names, dtype=torch.float64)
    there = noise.sample(kind, 40, 6, seed=1, draw=2, batch=batch.cuda(), graph_id=names.cuda(), dtype=torch.float64)
    assert there.is_cuda
    torch.testing.assert_close(there.cpu(), here, rtol=0, atol=1e-12)


def test_a_device_asked_for_is_the_one_used() -> None:
    batch = torch.zeros(3, dtype=torch.long)
    assert noise.sample("normal", 3, 2, seed=0, batch=batch, device="cpu").device.type == "cpu"


@pytest.mark.parametrize("kind", RANDOM)
def test_no_two_seeds_draws_or_graphs_share_their_noise(kind: str) -> None:
    """Words that differ in the low 32 bits only, in the high ones only, or in sign are different words."""
    special = [0, 1, 2, 2**31, 2**32, 2**32 + 1, 2**40, 2**62, -1, -2, -(2**32), -(2**40), -(2**63)]
    one = torch.zeros(40, dtype=torch.long)
    seen = [noise.sample(kind, 40, 24, seed=seed) for seed in special]
    seen += [noise.sample(kind, 40, 24, seed=0, draw=draw) for draw in special if draw]
    seen += [
        noise.sample(kind, 40, 24, seed=0, batch=one, graph_id=torch.tensor([name])) for name in special if name != 0
    ]
    assert len(torch.stack(seen).unique(dim=0)) == len(seen)


def test_the_kinds_of_a_sum_are_features_in_their_order_each_with_a_stream_of_its_own() -> None:
    both = noise.sample("onehot+normal+zero", 5, 8, seed=2)
    assert both.shape == (5, 8, 3)
    assert torch.equal(both[..., 0], noise.sample("onehot", 5, 8, seed=2))
    assert both[..., 2].eq(0).all()
    twice = noise.sample("normal+normal", 2000, 8, seed=2).double().flatten(0, 1)
    correlation = float(torch.corrcoef(twice.T)[0, 1])
    assert abs(correlation) < stats.norm.isf(LEVEL / 2) / math.sqrt(len(twice))


@pytest.mark.parametrize("kind", SUMS)
def test_a_seed_and_a_draw_may_be_tensors(kind: str) -> None:
    numbers = noise.sample(kind, 7, 4, seed=2**40, draw=-3)
    assert torch.equal(noise.sample(kind, 7, 4, seed=torch.tensor(2**40), draw=torch.tensor(-3)), numbers)
    assert torch.equal(noise.sample(kind, 7, 4, seed=torch.tensor(2**40), draw=-3), numbers)
    assert torch.equal(noise.sample(kind, 7, 4, seed=2**40, draw=torch.tensor(-3)), numbers)


@pytest.mark.parametrize("kind", ["normal", "uniform", "rademacher", "onehot+normal"])
def test_sampling_is_one_graph_for_the_compiler(kind: str) -> None:
    batch, names = torch.tensor([0, 1, 0, 1, 1]), torch.tensor([8, 9])

    def drawn(seed: Tensor) -> Tensor:
        return noise.sample(kind, 5, 4, seed=seed, batch=batch, graph_id=names)

    compiled = torch.compile(drawn, backend="eager", fullgraph=True)
    for seed in (0, 2**40):
        assert torch.equal(compiled(torch.tensor(seed)), drawn(torch.tensor(seed)))


# The words are Philox's.


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the known answers published with Random123
        ([0, 0, 0, 0], 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, 0xFFFFFFFFFFFFFFFF, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_answers(counter: list[int], key: int, words: list[int]) -> None:
    assert list(noise.philox(tuple(counter), key)) == words  # type: ignore[arg-type]
    tensors = torch.tensor(counter).unbind()
    signed = torch.tensor(key - 2**64 if key >= 2**63 else key)
    assert [int(word) for word in noise.philox(tensors, key)] == words
    assert [int(word) for word in noise.philox(tensors, signed)] == words


# The distributions are those that are named.


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_values_follow_their_distribution(kind: str) -> None:
    """Kolmogorov and Smirnov's test, over nodes and channels, over graphs, and over draws."""
    over_nodes = noise.sample(kind, 4000, 5, seed=0, dtype=torch.double).flatten()
    over_graphs = graphs(kind, 2, 3, 4000)[:, 1, 2]
    over_draws = torch.stack([noise.sample(kind, 2, 3, seed=0, draw=draw)[1, 2] for draw in range(2000)]).double()
    for values in (over_nodes, over_graphs, over_draws):
        assert stats.kstest(values.numpy(), INDEPENDENT[kind]).pvalue > LEVEL
        assert stats.kstest(values.numpy() + 0.2, INDEPENDENT[kind]).pvalue < LEVEL  # the test has the power


@pytest.mark.parametrize("kind", ["normal", "uniform", "rademacher"])
def test_values_have_mean_0_variance_1_and_are_independent(kind: str) -> None:
    values = noise.sample(kind, 4000, 6, seed=1, dtype=torch.double)
    count, bound = values.numel(), float(stats.norm.isf(LEVEL / 2))
    kurtosis = {"normal": 3, "uniform": 9 / 5, "rademacher": 1}[kind]
    assert abs(float(values.mean())) < bound / math.sqrt(count)
    assert abs(float(values.square().mean()) - 1) <= bound * math.sqrt((kurtosis - 1) / count)
    off = torch.corrcoef(values.T)[~torch.eye(6, dtype=torch.bool)]
    assert off.abs().max() < stats.norm.isf(LEVEL / 2 / 15) / math.sqrt(4000)
    after = (values[1:] * values[:-1]).mean()  # a node and the next
    assert abs(float(after)) < bound / math.sqrt(count - 6)


def test_normal_values_have_the_higher_moments() -> None:
    values = noise.sample("normal", 20000, 10, seed=1, dtype=torch.double)
    moments = {3: 0, 4: 3, 5: 0, 6: 15}  # E z^p; the variance of z^p is E z^2p less its square
    for power, moment in moments.items():
        spread = math.sqrt((math.prod(range(1, 2 * power, 2)) - moment**2) / values.numel())
        assert abs(float(values.pow(power).mean()) - moment) < stats.norm.isf(LEVEL / 2) * spread
    assert values.abs().max() > 4  # the tails are there


def test_rademacher_values_are_signs() -> None:
    assert noise.sample("rademacher", 50, 4, seed=0).abs().eq(1).all()


@given(st.integers(0, 8), st.integers(0, 3), words)
def test_orthogonal_rows_are_orthonormal_exactly_while_nodes_fit(n: int, more: int, seed: int) -> None:
    z = noise.sample("orthogonal", n, max(1, n + more), seed=seed, dtype=torch.double)
    torch.testing.assert_close(z @ z.T, torch.eye(n, dtype=torch.double), rtol=0, atol=1e-13)


@given(st.integers(1, 5), st.integers(1, 30), words)
def test_orthogonal_nodes_beyond_the_channels_share_out_orthonormal_frames(channels: int, more: int, seed: int) -> None:
    n = channels + more
    z = noise.sample("orthogonal", n, channels, seed=seed, dtype=torch.double)
    frames = -(-n // channels)
    torch.testing.assert_close(z.square().sum(1), torch.ones(n, dtype=torch.double))
    if n % channels == 0:  # then each frame is whole, and Zᵀ Z is their number times the identity
        torch.testing.assert_close(z.T @ z, frames * torch.eye(channels, dtype=torch.double))
    # each node is orthogonal to the C - 1 others of its frame (C = 1: there are none); one frame may be smaller
    zeros = (z @ z.T).abs().lt(1e-12).sum(1).sort().values
    last = n - (frames - 1) * channels
    assert zeros[last:].ge(channels - 1).all()
    assert zeros[:last].ge(last - 1).all()


def test_orthogonal_frames_are_uniform_over_all_frames() -> None:
    """Haar's measure: a value squared is Beta(1/2, (C-1)/2), and turning all frames changes no distribution."""
    frames = graphs("orthogonal", 3, 3, 3000)
    law = stats.beta(0.5, 1.0).cdf
    for row in range(3):
        for column in range(3):
            assert stats.kstest(frames[:, row, column].square().numpy(), law).pvalue > LEVEL
    turned = frames @ torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).double())[0]
    signs = torch.linalg.det(frames).sign()
    assert stats.binomtest(int((signs > 0).sum()), len(signs)).pvalue > LEVEL  # rotations and reflections alike
    assert stats.ks_2samp(frames[:1500, 0, 0].numpy(), turned[1500:, 0, 0].numpy()).pvalue > LEVEL


@given(st.integers(0, 12), st.integers(0, 4), words)
def test_onehot_marks_a_channel_of_its_own_for_each_node_while_nodes_fit(n: int, more: int, seed: int) -> None:
    channels = max(1, n + more)
    z = noise.sample("onehot", n, channels, seed=seed)
    assert z.unique().tolist() in ([], [0.0, 1.0], [1.0], [0.0])
    assert z.sum(1).eq(1).all()
    assert z.sum(0).le(1).all()


@given(st.integers(1, 6), st.integers(1, 40), words)
def test_onehot_beyond_the_channels_is_a_balanced_colouring(channels: int, more: int, seed: int) -> None:
    z = noise.sample("onehot", channels + more, channels, seed=seed)
    assert z.sum(1).eq(1).all()
    assert z.sum(0).max() - z.sum(0).min() <= 1


def test_every_way_to_mark_channels_is_as_likely() -> None:
    marks = graphs("onehot", 3, 4, 4800).argmax(-1) @ torch.tensor([16, 4, 1])
    counts = np.unique(marks.numpy(), return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > LEVEL


def test_every_balanced_colouring_is_as_likely() -> None:
    marks = graphs("onehot", 4, 2, 3000).argmax(-1) @ torch.tensor([8, 4, 2, 1])
    counts = np.unique(marks.numpy(), return_counts=True)[1]
    assert len(counts) == 6  # the ways to choose two nodes of four
    assert stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("channels", [1, 4, 9])
def test_scales_bring_every_kind_to_mean_square_one(kind: str, channels: int) -> None:
    (scale,) = noise.scales(kind, channels)
    z = noise.sample(kind, 20000 // channels, channels, seed=0, dtype=torch.double)
    assert float((scale * z).square().mean()) == pytest.approx(1, abs=0.05)


def test_zero_is_zero() -> None:
    assert noise.sample("zero", 5, 3, seed=0, draw=1).eq(0).all()


# The distribution knows neither the order of the nodes nor that of the channels.


def order_pvalue(noises: Tensor, axis: int) -> float:
    """Two-sample test of "the distribution of the noises `[count, n, C]` is the same in another order along `axis`".

    Half of them are left in order, half are shuffled by one fixed permutation. Compared by Kolmogorov and Smirnov's
    test, with Bonferroni's correction, are four statistics: how like each entry is to the next (as a product, and as
    the number of equal rows), how like it is to the one half way round, and a sum weighted by place.
    """
    z = noises.movedim(axis, 1)
    count, size, width = z.shape
    shuffle = torch.randperm(size, generator=torch.Generator().manual_seed(7))
    z = torch.cat([z[: count // 2], z[count // 2 :, shuffle]])
    along, across = torch.linspace(-1, 1, size).double(), torch.arange(1, width + 1).double().sqrt()
    statistics = [
        (z[:, 1:] * z[:, :-1]).sum((1, 2)),
        (z[:, 1:] == z[:, :-1]).all(2).sum(1),
        (z * z.roll(size // 2, 1)).sum((1, 2)),
        along @ z @ across,
    ]
    # sums of the same numbers in another order differ by rounding, which the test must not see
    halves = [np.split(np.round(values.numpy(), 9), 2) for values in statistics]
    return len(halves) * min(stats.ks_2samp(left, right, method="asymp").pvalue for left, right in halves)


@pytest.mark.parametrize("axis", [1, 2], ids=["nodes", "channels"])
@pytest.mark.parametrize(("n", "channels"), [(7, 9), (23, 4), (24, 6)])  # n ≤ C, n > C, n a multiple of C
@pytest.mark.parametrize("kind", RANDOM)
def test_every_order_is_as_likely(kind: str, n: int, channels: int, axis: int) -> None:
    assert order_pvalue(graphs(kind, n, channels, 2000), axis) > LEVEL


def colours_by_number() -> Tensor:
    """Nodes coloured 0, 1, …, C-1, 0, … in turn: random channels, balanced, but the next node never looks alike."""
    return graphs("onehot", 4, 4, 2000)[:, torch.arange(23) % 4]


def frames_by_number() -> Tensor:
    """A frame for each C consecutive nodes: the next node is nearly always at a right angle."""
    return torch.cat([graphs("orthogonal", 4, 4, 2000, draw) for draw in range(6)], dim=1)[:, :23]


def smooth() -> Tensor:
    """Normal values, each with a third of the next node's added."""
    z = graphs("normal", 24, 4, 2000)
    return (z[:, :-1] + z[:, 1:] / 3) / math.sqrt(10 / 9)


def trend() -> Tensor:
    """Normal values whose mean grows with the node's number, by half a standard deviation in all."""
    return graphs("normal", 23, 4, 2000) + torch.linspace(0, 0.5, 23, dtype=torch.double)[:, None]


@pytest.mark.parametrize("broken", [colours_by_number, frames_by_number, smooth, trend])
def test_noise_that_knows_the_order_of_the_nodes_is_found_out(broken: Callable[[], Tensor]) -> None:
    assert order_pvalue(broken(), axis=1) < LEVEL
    assert order_pvalue(broken().mT, axis=2) < LEVEL


# Corners, and what is said of a wrong call.


@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize(("n", "channels"), [(0, 3), (0, 1), (1, 1), (1, 5), (6, 1)])
def test_no_node_and_one_channel_are_sizes_like_others(kind: str, n: int, channels: int) -> None:
    z = noise.sample(kind, n, channels, seed=0)
    features = kind.count("+") + 1
    assert z.shape == ((n, channels) if features == 1 else (n, channels, features))
    assert z.isfinite().all()


@pytest.mark.parametrize("kind", SUMS)
def test_a_batch_of_empty_graphs_has_no_noise(kind: str) -> None:
    none = torch.zeros(0, dtype=torch.long)
    assert noise.sample(kind, 0, 3, seed=0, batch=none, graph_id=torch.arange(4)).numel() == 0
    assert noise.sample(kind, 0, 3, seed=0, batch=none).numel() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: noise.sample("nromal", 3, 2, seed=0),
            "noise kind 'nromal' in 'nromal' is not known; did you mean 'norm",
        ),
        (lambda: noise.sample("onehot+", 3, 2, seed=0), r"noise kind '' in 'onehot\+' is not known; known: .*uniform"),
        (lambda: noise.sample("normal", 3, 0, seed=0), "noise_channels=0: there must be at least one"),
        (lambda: noise.sample("normal", 3, 2, seed=2**64), "seed=18446744073709551616 is no number of 64 bits"),
        (lambda: noise.sample("normal", 3, 2, seed=0, draw=-(2**63) - 1), "draw=-9223372036854775809 is no number"),
        (lambda: noise.sample("normal", 3, 2, seed=0, batch=torch.tensor([0, 1])), r"batch has shape \(2,\).*3 nodes"),
        (
            lambda: noise.sample("zero", 2, 2, seed=0, batch=torch.tensor([0, 1]), graph_id=torch.tensor([5])),
            "batch has a graph 1, but graph_id names 1: name every graph",
        ),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(call: Callable[[], Tensor], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()

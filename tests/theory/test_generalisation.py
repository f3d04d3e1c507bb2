"""Section "Generalization" of the paper on finite noise spaces, where covering numbers can be computed exactly.

A noise space is an array `[N, n, C]`, all of whose N points are there; ρ_Z is the largest difference of an entry.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from engnn import noise
from engnn.nn import ENGNN

Array = NDArray[np.float64]
Transform = Callable[[Array], Array]
SLACK = 1e-9  # rounding of distances, far below every distance that is compared


def identity(z: Array) -> Array:
    return z


def reorder(order: Sequence[int], signs: Sequence[int] = ()) -> Transform:
    """Channels in this order, the k-th times the k-th sign."""
    return lambda z: z[..., list(order)] * (np.array(signs) if len(signs) else 1)


def symmetric_group(channels: int) -> list[Transform]:
    return [reorder(order) for order in itertools.permutations(range(channels))]


def pseudo_metric(space: Array, group: Sequence[Transform]) -> Array:
    """ρ_{Z,T}(Z₁, Z₂) = inf over t₁, t₂ in T of ρ_Z(t₁(Z₁), t₂(Z₂)), for all pairs of points."""
    images = [t(space).reshape(len(space), -1) for t in group]
    distance = np.full((len(space), len(space)), np.inf)
    for one, other in itertools.product(images, repeat=2):
        np.minimum(distance, np.abs(one[:, None] - other[None]).max(-1), out=distance)
    return distance


def cover(distance: Array, radius: float) -> NDArray[np.int64]:
    """For each point, a point within the radius: as few different ones as there can be (a minimum set cover)."""
    near = LinearConstraint(distance <= radius + SLACK, lb=1)
    found = milp(np.ones(len(distance)), integrality=1, bounds=Bounds(0, 1), constraints=near)
    assert found.success
    chosen = np.flatnonzero(found.x > 0.5)
    return chosen[distance[:, chosen].argmin(1)]


def covering_number(distance: Array, radius: float) -> int:
    """N(U, ρ, r): the least number of points such that all are within r of one of them."""
    return len(np.unique(cover(distance, radius)))


def grid(points: int, n: int, channels: int) -> Array:
    """[0, 1]^{n × C}, `points` evenly spaced along each axis."""
    axis = (np.arange(points) + 0.5) / points
    return np.array(list(itertools.product(axis, repeat=n * channels))).reshape(-1, n, channels)


def ratio(space: Array, radius: float) -> float:
    channels = space.shape[-1]
    with_symmetry = covering_number(pseudo_metric(space, symmetric_group(channels)), radius)
    return with_symmetry / covering_number(pseudo_metric(space, [identity]), radius)


def test_a_covering_number_is_what_it_says() -> None:
    line = np.arange(9.0)[:, None, None]
    distance = pseudo_metric(line, [identity])
    assert [covering_number(distance, radius) for radius in (0, 1, 2, 4)] == [9, 3, 2, 1]


# Proposition 1: N(Z, ρ_{Z,T₁}, τ) ≥ N(Z, ρ_{Z,T₂}, τ) where T₁ ⊆ T₂.

CYCLIC = [reorder(order) for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
SIGNED = [
    reorder(order, signs)
    for order in itertools.permutations(range(3))
    for signs in itertools.product((-1, 1), repeat=3)
]
CHAIN = [[identity], CYCLIC, symmetric_group(3), SIGNED]


@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 3), radius=st.floats(0, 1))
@settings(max_examples=20)
def test_more_symmetry_never_needs_more_points(seed: int, nodes: int, radius: float) -> None:
    space = np.random.default_rng(seed).integers(-4, 5, (12, nodes, 3)) / 4
    numbers = [covering_number(pseudo_metric(space, group), radius) for group in CHAIN]
    assert numbers == sorted(numbers, reverse=True)


def test_each_larger_group_of_the_chain_does_need_fewer_points() -> None:
    space = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))[:, None]
    assert [covering_number(pseudo_metric(space, group), 0) for group in CHAIN] == [27, 11, 10, 4]


# Proposition 2: the ratio of covering numbers with and without S_C is 1 / C!.


@pytest.mark.parametrize(("nodes", "channels", "kinds"), [(1, 2, 3), (1, 3, 3), (2, 2, 3), (1, 3, 4)])
def test_the_ratio_is_one_over_c_factorial_where_channels_are_apart(nodes: int, channels: int, kinds: int) -> None:
    """Channels come from `kinds` clusters of columns far apart, no two channels from one; balls hold several points."""
    cluster = np.array(list(itertools.product((0.0, 0.05, 0.1), repeat=nodes)))[:: 1 if nodes == 1 else 2]
    columns = [cluster + 0.3 * kind for kind in range(kinds)]
    space = np.array(
        [
            np.stack(chosen, axis=1)
            for order in itertools.permutations(range(kinds), channels)
            for chosen in itertools.product(*(columns[kind] for kind in order))
        ]
    )
    assert 1 / ratio(space, 0.05) == math.factorial(channels)
    assert 1 / ratio(space, 0.0) == math.factorial(channels)
    assert covering_number(pseudo_metric(space, [identity]), 0.05) < len(space)


def test_on_the_whole_cube_the_ratio_falls_towards_one_over_c_factorial_and_never_below() -> None:
    """Points with two equal channels have smaller orbits: the proposition's equation holds as the radius goes to 0.

    A cover of the cube needs a ball for each of m cells along each axis; with symmetry, one for each multiset of cells.
    """
    for channels, most in ((2, 4), (3, 2)):
        ratios = []
        for cells in range(1, most + 1):
            found = ratio(grid(3 * cells, 1, channels), 1 / (3 * cells))
            assert found == pytest.approx(math.comb(cells + channels - 1, channels) / cells**channels)
            ratios.append(found)
        assert ratios == sorted(set(ratios), reverse=True)
        assert ratios[-1] > 1 / math.factorial(channels)
    fine = math.comb(1000 + 2, 3) / 1000**3  # and so on to where no cover can be computed
    assert fine * math.factorial(3) == pytest.approx(1, abs=0.01)


# N_Z of the noise that the library draws.


def draws(kind: str, n: int, channels: int, count: int) -> Array:
    batch = torch.arange(count).repeat_interleave(n)
    z = noise.sample(kind, count * n, channels, seed=0, batch=batch, graph_id=torch.arange(count), dtype=torch.double)
    space: Array = np.unique(z.view(count, n, channels).numpy(), axis=0)
    return space


@pytest.mark.parametrize(("n", "channels"), [(1, 1), (2, 3), (3, 3), (3, 4)])
def test_marks_are_one_point_under_channel_permutations(n: int, channels: int) -> None:
    """N_Z = 1 at every radius, even 0: nothing is left of the noise. Without symmetry it is C! / (C - n)!."""
    space = draws("onehot", n, channels, 400)
    assert covering_number(pseudo_metric(space, symmetric_group(channels)), 0) == 1
    assert covering_number(pseudo_metric(space, [identity]), 0) == math.perm(channels, n) == len(space)


def test_colourings_are_as_many_points_as_there_are_balanced_partitions() -> None:
    for n, channels, partitions in ((4, 2, 3), (6, 2, 10), (6, 3, 15)):
        space = draws("onehot", n, channels, 800)
        assert covering_number(pseudo_metric(space, symmetric_group(channels)), 0) == partitions
        assert covering_number(pseudo_metric(space, [identity]), 0) == partitions * math.factorial(channels)


@pytest.mark.parametrize("kind", ["normal", "uniform", "orthogonal"])
def test_other_noise_stays_as_many_points_as_it_has_draws(kind: str) -> None:
    space = draws(kind, 3, 4, 20)
    assert covering_number(pseudo_metric(space, symmetric_group(4)), 0) == 20


def test_frames_are_one_point_under_rotations() -> None:
    """The larger group does for `orthogonal` what permutations do for `onehot`; and does not for `normal`.

    The nearest rotation is Procrustes's: min ‖Z₁ - Z₂ Q‖² = ‖Z₁‖² + ‖Z₂‖² - 2 ‖Z₂ᵀ Z₁‖_*.
    """
    for kind, points in (("orthogonal", 1), ("normal", 20)):
        space = draws(kind, 3, 4, 20)
        nuclear = np.linalg.svd(space[:, None].swapaxes(2, 3) @ space[None], compute_uv=False).sum(-1)
        size = np.square(space).sum((1, 2))
        distance = np.sqrt(np.maximum(0, size[:, None] + size - 2 * nuclear))
        assert covering_number(distance, 1e-6) == points


# Theorem 1. What it rests on: a T-invariant Lipschitz function is Lipschitz in ρ_{Z,T}; a class of such functions has a
# cover of N_Y^(N_G N_Z) functions; and the error of a class concentrates as its cover is small.


@pytest.mark.parametrize(("variant", "holds"), [("engnn", True), ("nmpnn", False)])
def test_an_invariant_model_is_as_lipschitz_under_the_pseudo_metric(variant: str, holds: bool) -> None:
    """C_Z is the model's own, measured over all pairs of points of a noise space that is closed under T."""
    torch.manual_seed(0)
    sizes = {"noise_channels": 3, "noise_dim": 8, "noise": "normal"}
    model = ENGNN(0, 16, 3, 2, **sizes, variant=variant).double()  # type: ignore[arg-type]
    path = torch.tensor([[0, 1], [1, 0]])
    some = np.random.default_rng(0).random((12, 2, 3))
    space = np.concatenate([t(some) for t in symmetric_group(3)])
    with torch.no_grad():
        out = torch.cat([model(None, path, noise=torch.tensor(z)) for z in space]).numpy()
    change = np.abs(out[:, None] - out[None]).max(-1)
    plain, induced = pseudo_metric(space, [identity]), pseudo_metric(space, symmetric_group(3))
    lipschitz = (change[plain > SLACK] / plain[plain > SLACK]).max()
    assert bool((change <= lipschitz * induced + SLACK).all()) == holds


@pytest.mark.parametrize(("invariant", "holds"), [(True, True), (False, False)])
def test_functions_are_near_one_of_few_that_are_constant_on_cells(invariant: bool, holds: bool) -> None:
    """N(H, δ) ≤ N_Y^(N_G N_Z), with the cells of G × Z and Y that the appendix uses, for random Lipschitz functions.

    Functions that are not T-invariant are not covered by the cells of ρ_{Z,T}: those are too few for them.
    """
    delta, lipschitz_g, lipschitz_z = 0.6, 1.0, 1.1
    graphs = np.abs(np.subtract.outer(np.linspace(0, 1, 6), np.linspace(0, 1, 6)))
    space = grid(6, 1, 2)
    induced = pseudo_metric(space, symmetric_group(2))
    own = induced if invariant else pseudo_metric(space, [identity])
    labels = np.linspace(0, 1, 21)
    cell_g, cell_z = cover(graphs, delta / 3 / lipschitz_g), cover(induced, delta / 3 / lipschitz_z)
    label = cover(np.abs(labels[:, None] - labels), delta / 3)
    assert len(set(cell_g)) < 6
    assert len(set(cell_z)) < len(space) / 2
    assert len(set(label)) < 21
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(200):
        anchors = rng.integers(6, size=4), rng.integers(len(space), size=4)
        cones = lipschitz_g * graphs[anchors[0]][:, :, None] + lipschitz_z * own[anchors[1]][:, None]
        h = np.clip((rng.random(4)[:, None, None] + cones).min(0), 0, 1)  # Lipschitz in each argument
        at_centres = h[cell_g][:, cell_z]
        f = labels[label[np.abs(at_centres[..., None] - labels).argmin(-1)]]  # one of N_Y^(N_G N_Z) functions
        worst = max(worst, float(np.abs(f - h).max()))
    assert (worst <= delta + 0.025) == holds  # labels lie 0.05 apart


def test_the_error_of_a_class_concentrates_as_its_cover_is_small() -> None:
    """P[sup_h |L(h)| ≥ ε] ≤ 2 N(H, ε / 4 C_l) exp(-n ε² / 2), over 4000 samples of each size."""
    rng, epsilon = np.random.default_rng(0), 0.25
    functions = rng.random((30, 1)) + 0.05 * rng.random((30, 6))  # h(x) for six values of x, in [0, 1.05]
    functions = functions.clip(0, 1)
    distance = np.abs(functions[:, None] - functions[None]).max(-1)
    number = covering_number(distance, epsilon / 4)
    assert number < 30
    seen = []
    for size in (5, 60, 160):
        x, y = rng.integers(6, size=(4000, size)), (rng.random((4000, size)) < 0.5) * 1.0
        loss = np.abs(functions[:, x] - y).mean(-1)  # |h(x) - y|, with C_l = 1
        expected = 0.5 * (functions.mean(1) + (1 - functions).mean(1))
        frequency = float((np.abs(expected[:, None] - loss).max(0) >= epsilon).mean())
        assert frequency <= 2 * number * math.exp(-size * epsilon**2 / 2)
        seen.append(frequency)
    assert seen[0] > 0.1  # it does happen where samples are few
    assert 2 * number * math.exp(-160 * epsilon**2 / 2) < 0.5  # and the bound does say something

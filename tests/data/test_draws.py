from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engnn.data.draws import Draws
from engnn.errors import InputError

seeds = st.integers(0, 2**64 - 1)


def test_a_seed_gives_the_same_numbers_on_every_machine() -> None:
    draws = Draws(2024, 3)
    assert draws.order(8).tolist() == [1, 0, 2, 3, 7, 6, 4, 5]
    assert draws.below(1000, 4).tolist() == [55, 537, 840, 24]
    assert draws.one(1000) == 538
    assert draws.unit(2).tolist() == [0.02796028425713426, 0.6173401437615139]


@given(seed=seeds, count=st.integers(0, 50))
def test_an_order_holds_every_number_once(seed: int, count: int) -> None:
    assert sorted(Draws(seed, 0).order(count).tolist()) == list(range(count))


@given(seed=seeds, bound=st.integers(1, 100))
def test_whole_numbers_stay_below_their_bound(seed: int, bound: int) -> None:
    numbers = [*Draws(seed, 0).below(bound, 50).tolist(), Draws(seed, 1).one(bound)]
    assert 0 <= min(numbers) <= max(numbers) < bound


def test_numbers_are_spread_evenly() -> None:
    unit = Draws(0, 0).unit(100_000)
    assert 0 <= unit.min() < unit.max() < 1
    shares = np.bincount((10 * unit).astype(int), minlength=10) / len(unit)
    assert np.abs(shares - 0.1).max() < 5 * np.sqrt(0.1 * 0.9 / len(unit))  # five standard errors


def test_seeds_and_purposes_give_other_numbers() -> None:
    streams = {tuple(Draws(seed, purpose).order(50).tolist()) for seed in range(4) for purpose in range(4)}
    assert len(streams) == 16


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_is_no_64_bit_number_is_told(seed: int) -> None:
    with pytest.raises(InputError, match=f"seed {seed} must be"):
        Draws(seed, 0)

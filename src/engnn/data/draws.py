"""Random choices that are the same on every machine: all are made from the raw words of a Philox counter.

NumPy keeps those words the same in every version; its higher-level draws (`permutation`, `choice`) carry no such
promise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engnn.errors import InputError

Array = NDArray[Any]


def check_seed(seed: int) -> None:
    """Raise `InputError` unless it is one.

    >>> check_seed(-1)
    Traceback (most recent call last):
    engnn.errors.InputError: seed -1 must be a whole number from 0 to 2^64 - 1
    """
    if not 0 <= seed < 2**64:
        raise InputError(f"seed {seed} must be a whole number from 0 to 2^64 - 1")


class Draws:
    """One stream of random numbers for each seed and purpose; streams are independent of one another.

    >>> draws = Draws(0, 7)
    >>> draws.order(5).tolist(), draws.below(6, 4).tolist()
    ([2, 0, 3, 1, 4], [0, 4, 3, 5])
    """

    def __init__(self, seed: int, purpose: int) -> None:
        check_seed(seed)
        self._words = np.random.Philox(key=np.array([seed, purpose], dtype=np.uint64)).random_raw

    def order(self, count: int) -> Array:
        """The numbers below `count` in random order."""
        return np.argsort(self._words(count), kind="stable")

    def below(self, bound: int, count: int) -> Array:
        """`count` whole numbers from 0 to `bound - 1` (the bias is below `bound / 2^64`)."""
        return (self._words(count) % np.uint64(bound)).astype(np.int64)

    def one(self, bound: int) -> int:
        """A whole number from 0 to `bound - 1`."""
        return int(self._words() % bound)

    def unit(self, count: int) -> Array:
        """`count` numbers in [0, 1)."""
        return (self._words(count) >> np.uint64(11)) * 2.0**-53

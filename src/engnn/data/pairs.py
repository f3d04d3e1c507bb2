"""Pairs of nodes without a direction, each as one number, so that a set of pairs is a sorted array.

NumPy sorts whole numbers many times faster than `torch.unique` and `numpy.unique` (which hashes) find the different
ones, and with one thread, so that a busy machine does not slow it down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def encoded(pairs: NDArray[Any], num_nodes: int) -> Ints:
    """One number for each of the pairs `[2, p]`, the same for both directions.

    >>> encoded(np.array([[0, 2], [2, 0]]), 3).tolist()
    [2, 2]
    """
    first, second = pairs.astype(np.int64, copy=False)
    codes: Ints = np.minimum(first, second) * num_nodes + np.maximum(first, second)
    return codes


def decoded(codes: Ints, num_nodes: int) -> Ints:
    """The pairs `[2, p]` again, the smaller node first.

    >>> decoded(np.array([2, 5]), 3).tolist()
    [[0, 1], [2, 2]]
    """
    return np.stack(np.divmod(codes, num_nodes))


def distinct(values: Ints) -> Ints:
    """The different values, in ascending order.

    >>> distinct(np.array([5, 3, 5])).tolist()
    [3, 5]
    """
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def among(values: Ints, known: Ints) -> NDArray[np.bool_]:
    """Which of `values` are in `known`, which is sorted.

    >>> among(np.array([4, 3]), np.array([3, 5])).tolist()
    [False, True]
    """
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    found: NDArray[np.bool_] = known[np.searchsorted(known, values).clip(max=len(known) - 1)] == values
    return found

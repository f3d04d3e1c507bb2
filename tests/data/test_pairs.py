"""Sets of pairs as sorted numbers are the sets of pairs that Python makes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engnn.data.pairs import among, decoded, distinct, encoded

NODES = 40
listed = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=60)


def array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2).T


def unordered(pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in pairs}


@given(listed)
def test_a_number_is_a_pair_without_its_direction(pairs: list[tuple[int, int]]) -> None:
    codes = encoded(array(pairs), NODES)
    assert codes.tolist() == encoded(array(pairs)[::-1], NODES).tolist()
    assert decoded(codes, NODES).T.tolist() == [[min(pair), max(pair)] for pair in pairs]


@given(listed)
def test_the_different_pairs_are_those_of_a_set_in_order(pairs: list[tuple[int, int]]) -> None:
    assert decoded(distinct(encoded(array(pairs), NODES)), NODES).T.tolist() == sorted(map(list, unordered(pairs)))


@given(listed, listed)
def test_membership_is_that_of_a_set(pairs: list[tuple[int, int]], known: list[tuple[int, int]]) -> None:
    found = among(encoded(array(pairs), NODES), distinct(encoded(array(known), NODES)))
    assert found.tolist() == [(min(pair), max(pair)) in unordered(known) for pair in pairs]


def test_pairs_of_as_many_nodes_as_the_largest_graphs_have_keep_apart() -> None:
    last = 2**31 - 1
    codes = encoded(np.array([[last, last - 1, 0], [last - 1, last, last]], dtype=np.int32), last + 1)
    assert codes[0] == codes[1] != codes[2]
    assert decoded(codes, last + 1).tolist() == [[last - 1, last - 1, 0], [last, last, last]]

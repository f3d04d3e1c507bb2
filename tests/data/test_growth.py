from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engnn.data.draws import Draws
from engnn.data.growth import (
    Neighbours,
    barabasi_albert,
    core_numbers,
    duplication_divergence,
    extended_barabasi_albert,
    join,
)

seeds = st.integers(0, 2**32)


def as_networkx(graph: Neighbours) -> nx.Graph:
    made = nx.Graph()
    made.add_nodes_from(range(len(graph)))
    made.add_edges_from((u, v) for u, others in enumerate(graph) for v in others)
    return made


def is_simple(graph: Neighbours) -> bool:
    return all(u != v and u in graph[v] for u, others in enumerate(graph) for v in others)


@settings(deadline=None, max_examples=30)
@given(seed=seeds, nodes=st.integers(7, 60), joins=st.integers(1, 6))
def test_preferential_attachment_is_simple_connected_and_has_the_stated_edges(
    seed: int, nodes: int, joins: int
) -> None:
    graph = barabasi_albert(nodes, joins, Draws(seed, 0))
    assert is_simple(graph)
    assert sum(map(len, graph)) == 2 * joins * (nodes - joins)
    assert nx.is_connected(as_networkx(graph))


def test_preferential_attachment_prefers_high_degrees() -> None:
    degrees = sorted(map(len, barabasi_albert(5000, 5, Draws(0, 0))))
    assert degrees[5] >= 5  # the first five may stay with fewer
    assert degrees[-1] > 150  # a uniform choice gives a largest degree of about 50


@settings(deadline=None, max_examples=30)
@given(seed=seeds, inside=st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_extended_attachment_is_simple_and_as_dense_as_its_probability_says(seed: int, inside: float) -> None:
    graph = extended_barabasi_albert(15, 5, inside, Draws(seed, 0))
    assert is_simple(graph)
    edges = sum(map(len, graph)) // 2
    assert edges % 5 == 0
    assert 50 <= edges <= 105
    assert edges == 50 or inside > 0


@settings(deadline=None, max_examples=30)
@given(seed=seeds, nodes=st.integers(2, 60))
def test_duplication_is_simple_and_connected(seed: int, nodes: int) -> None:
    graph = duplication_divergence(nodes, 0.7, Draws(seed, 0))
    assert is_simple(graph)
    assert len(graph) == nodes
    assert nx.is_connected(as_networkx(graph))


def test_duplication_that_keeps_everything_makes_a_complete_bipartite_graph() -> None:
    graph = as_networkx(duplication_divergence(30, 1.0, Draws(0, 0)))
    one, other = nx.bipartite.sets(graph)
    assert graph.number_of_edges() == len(one) * len(other)


@settings(deadline=None)
@given(
    nodes=st.integers(1, 12),
    pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=50),
)
def test_core_numbers_are_those_of_networkx(nodes: int, pairs: list[tuple[int, int]]) -> None:
    graph: Neighbours = [{} for _ in range(nodes)]
    for u, v in pairs:
        if u != v and max(u, v) < nodes:
            join(graph, u, v)
    expected = nx.core_number(as_networkx(graph))
    assert core_numbers(graph) == [expected[node] for node in range(nodes)]


@pytest.mark.parametrize(
    "grow",
    [
        partial(barabasi_albert, 50, 3),
        partial(extended_barabasi_albert, 15, 5, 0.5),
        partial(duplication_divergence, 50, 0.7),
    ],
)
def test_a_seed_makes_one_graph_and_another_seed_another(grow: Callable[[Draws], Neighbours]) -> None:
    one, again, other = (grow(Draws(seed, 0)) for seed in (0, 0, 1))
    assert one == again != other

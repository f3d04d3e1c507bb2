from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from torch import Tensor

from engnn.data import substructures
from engnn.data.dataset import Dataset, Graphs
from engnn.data.substructures import PATTERNS, count
from engnn.errors import InputError

TRIANGLE = [(0, 1), (1, 2), (2, 0)]
# each pattern as a graph, and the node of it that is the counted one
ROOTED = {
    **{f"{k}-cycle": ([(i, (i + 1) % k) for i in range(k)], 0) for k in (3, 4, 5, 6)},
    "tailed-triangle": ([*TRIANGLE, (0, 3)], 3),
    "chordal-cycle": ([*TRIANGLE, (1, 3), (2, 3)], 0),
    "4-clique": ([(i, j) for i in range(4) for j in range(i)], 0),
    "4-path": ([(0, 1), (1, 2), (2, 3), (3, 4)], 0),
    "triangle-rectangle": ([*TRIANGLE, (1, 3), (3, 4), (4, 2)], 0),
}


@st.composite
def small_graphs(draw: st.DrawFn) -> nx.Graph:
    nodes = draw(st.integers(1, 7))
    pairs = [(u, v) for u in range(nodes) for v in range(u)]
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    joined = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    graph.add_edges_from(pair for pair, there in zip(pairs, joined, strict=True) if there)
    return graph


def as_graphs(*graphs: nx.Graph) -> Graphs:
    edges = [torch.tensor(sorted(graph.to_directed().edges), dtype=torch.long).reshape(-1, 2).T for graph in graphs]
    return Graphs(
        torch.tensor([len(graph) for graph in graphs]),
        torch.tensor([each.size(1) for each in edges]),
        torch.cat(edges, dim=1),
    )


def copies(graph: nx.Graph, name: str) -> list[int]:
    """The distinct copies of a pattern (as sets of edges) that hold each node in the counted place, by networkx."""
    edges, root = ROOTED[name]
    found: list[set[frozenset[frozenset[int]]]] = [set() for _ in graph]
    for image in GraphMatcher(graph, nx.Graph(edges)).subgraph_monomorphisms_iter():
        place = {node: at for at, node in image.items()}
        found[place[root]].add(frozenset(frozenset((place[u], place[v])) for u, v in edges))
    return [len(each) for each in found]


@settings(deadline=None, max_examples=40)
@given(graph=small_graphs())
def test_counts_are_those_of_networkx_monomorphisms(graph: nx.Graph) -> None:
    expected = [copies(graph, name) for name in PATTERNS]
    assert count(as_graphs(graph)).T.tolist() == expected


def test_the_complete_graph_on_six_nodes_counts_as_combinatorics_says() -> None:
    expected = {
        "3-cycle": 10,  # choose 2 of 5
        "4-cycle": 30,  # 5 * 4 * 3 / 2
        "5-cycle": 60,
        "6-cycle": 60,
        "tailed-triangle": 5 * 6,  # the neighbour, then 2 of the other 4
        "chordal-cycle": 10 * 3,
        "4-clique": 10,
        "4-path": 5 * 4 * 3 * 2,
        "triangle-rectangle": 10 * 3 * 2,
    }
    counts = count(as_graphs(nx.complete_graph(6)), tuple(expected))
    assert counts.tolist() == [list(expected.values())] * 6


def test_every_published_count_of_94000_nodes_is_found_again(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("counting")
    if dataset.provenance == "generated":
        pytest.skip("data: counting is not here")
    assert dataset.y is not None
    assert dataset.y.shape == (94_000, 9)
    assert torch.equal(count(dataset.graphs, dataset.outputs).float(), dataset.y)


@settings(deadline=None, max_examples=20)
@given(graph=small_graphs(), other=small_graphs(), seed=st.integers(0, 100))
def test_counts_move_with_the_nodes_and_do_not_see_other_graphs(graph: nx.Graph, other: nx.Graph, seed: int) -> None:
    order = torch.randperm(len(graph), generator=torch.Generator().manual_seed(seed))
    moved = nx.relabel_nodes(graph, dict(enumerate(order.tolist())))
    alone, together = count(as_graphs(graph)), count(as_graphs(other, moved))
    assert torch.equal(together[len(other) :][order], alone)


def test_self_loops_single_directions_and_repeated_edges_do_not_change_a_count() -> None:
    def counted(*edges: tuple[int, int]) -> Tensor:
        return count(Graphs(torch.tensor([3]), torch.tensor([len(edges)]), torch.tensor(edges).T))

    clean = counted((0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2))
    assert clean[:, 0].tolist() == [1, 1, 1]
    assert torch.equal(counted((0, 1), (0, 1), (1, 2), (2, 0), (1, 1)), clean)


def test_counting_in_small_steps_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = as_graphs(nx.petersen_graph(), nx.complete_graph(5))
    at_once = count(graphs)
    monkeypatch.setattr(substructures, "PATHS_AT_ONCE", 1)
    assert torch.equal(count(graphs), at_once)


def test_an_unknown_pattern_is_told_with_the_nearest_known() -> None:
    with pytest.raises(InputError, match=r"'7-cycle' is not known; did you mean '.-cycle'"):
        count(as_graphs(nx.complete_graph(3)), ["7-cycle"])


def test_graphs_without_edges_or_patterns_count_nothing() -> None:
    assert count(as_graphs(nx.empty_graph(3))).tolist() == [[0] * 9] * 3
    assert count(as_graphs(nx.complete_graph(3)), []).shape == (3, 0)

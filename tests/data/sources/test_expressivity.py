from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engnn.data.dataset import PARTS, Dataset, Graphs
from engnn.data.sources.expressivity import SKIPS, graph6
from engnn.data.splits import audit_split, undirected
from engnn.errors import InputError


def as_networkx(graphs: Graphs, number: int) -> nx.Graph:
    data = graphs.batch(torch.tensor([number]))
    graph = nx.Graph()
    graph.add_nodes_from(range(data.num_nodes))
    graph.add_edges_from(data.edge_index.T.tolist())
    if data.x is not None:
        nx.set_node_attributes(graph, dict(enumerate(data.x.argmax(1).tolist())), "kind")
    return graph


def colours(graph: nx.Graph) -> Counter[int]:
    """What colour refinement (1-WL) sees of a graph."""
    colour: dict[int, object] = {node: graph.nodes[node].get("kind") for node in graph}
    for _ in range(len(graph)):
        signs = {node: (colour[node], *sorted(str(colour[other]) for other in graph[node])) for node in graph}
        refined = {node: hash(sign) for node, sign in signs.items()}
        if len(set(refined.values())) == len(set(colour.values())):
            return Counter(refined.values())
        colour = dict(refined)
    return Counter(map(hash, colour.values()))


@settings(deadline=None)
@given(nodes=st.integers(0, 70), seed=st.integers(0, 1000), share=st.floats(0, 1))
def test_graph6_is_read_as_networkx_reads_it(nodes: int, seed: int, share: float) -> None:
    graph = nx.gnp_random_graph(nodes, share, seed=seed)
    text = nx.to_graph6_bytes(graph, header=False).decode().strip()
    read, edges = graph6(text)
    assert read == nodes
    assert sorted(map(tuple, edges.T.tolist())) == sorted((min(edge), max(edge)) for edge in graph.edges)


def test_csl_has_ten_classes_of_fifteen(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("csl")
    assert dataset.graphs.num_nodes.tolist() == [41] * 150
    assert dataset.graphs.num_edges.tolist() == [2 * 82] * 150
    assert dataset.y is not None
    assert torch.bincount(dataset.y).tolist() == [15] * 10
    assert [len(dataset.split[part]) for part in PARTS] == [90, 30, 30]
    assert all(torch.bincount(dataset.y[dataset.split[part]]).unique().numel() == 1 for part in PARTS)


def test_csl_s_classes_are_the_circulant_graphs_that_they_are_named_for(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("csl")
    assert dataset.y is not None
    for number in range(0, 150, 7):
        skip = SKIPS[int(dataset.y[number])]
        assert nx.is_isomorphic(as_networkx(dataset.graphs, number), nx.circulant_graph(41, [1, skip]))
        assert dataset.classes[int(dataset.y[number])] == f"skip {skip}"


def test_csl_s_classes_are_not_isomorphic_and_equal_to_colour_refinement() -> None:
    made = [nx.circulant_graph(41, [1, skip]) for skip in SKIPS]
    assert len({tuple(sorted(colours(graph).values())) for graph in made}) == 1
    assert not any(nx.is_isomorphic(one, other) for one, other in combinations(made, 2))


def test_exp_has_the_published_counts(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("exp")
    graphs = dataset.graphs
    assert len(graphs) == 1200
    assert float(graphs.num_nodes.float().mean()) == pytest.approx(48.7, abs=0.05)
    assert float(graphs.num_edges.float().mean()) / 2 == pytest.approx(60.4, abs=0.05)
    assert dataset.y is not None
    assert torch.bincount(dataset.y).tolist() == [600, 600]
    assert [len(dataset.split[part]) for part in PARTS] == [960, 120, 120]
    whole = graphs.batch()
    assert 2 * undirected(whole.num_nodes, whole.edge_index).size(1) == whole.edge_index.size(1)


def test_exp_s_pairs_differ_in_their_answer_and_not_in_their_colours(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("exp")
    assert dataset.y is not None
    assert (dataset.y[0::2] != dataset.y[1::2]).all()
    for first in range(0, 1200, 60):
        one, other = (as_networkx(dataset.graphs, number) for number in (first, first + 1))
        assert colours(one) == colours(other)
        assert not nx.is_isomorphic(one, other, node_match=lambda a, b: a["kind"] == b["kind"])


def test_brec_is_400_pairs_in_the_published_order(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("brec")
    assert len(dataset.graphs) == len(dataset.ids) == 800
    assert (dataset.y, dict(dataset.split), dataset.split_name) == (None, {}, "pairs")
    assert list(Counter(name.split("/")[0] for name in dataset.ids).items()) == [
        ("basic", 120),
        ("regular", 100),
        ("strongly_regular", 100),
        ("extension", 200),
        ("cfi", 200),
        ("4vertex_condition", 40),
        ("distance_regular", 40),
    ]
    assert dataset.ids[800 - 2 :] == ("distance_regular/399/a", "distance_regular/399/b")


def test_only_a_named_dataset_may_lack_labels_and_a_split(open_or_skip: Callable[..., Dataset]) -> None:
    pairs = open_or_skip("brec")
    audit_split(pairs)
    with pytest.raises(InputError, match="train is empty"):
        audit_split(replace(pairs, provenance="own"))


def test_brec_s_pairs_cannot_be_told_apart_by_colours(open_or_skip: Callable[..., Dataset]) -> None:
    graphs = open_or_skip("brec").graphs
    for pair in range(0, 400, 4):
        one, other = (as_networkx(graphs, number) for number in (2 * pair, 2 * pair + 1))
        assert (len(one), one.size()) == (len(other), other.size())
        assert colours(one) == colours(other)


def test_brec_s_small_pairs_are_not_isomorphic(open_or_skip: Callable[..., Dataset]) -> None:
    graphs = open_or_skip("brec").graphs
    for pair in range(110):  # basic and regular
        assert not nx.is_isomorphic(as_networkx(graphs, 2 * pair), as_networkx(graphs, 2 * pair + 1))


def test_colour_refinement_sees_what_it_can_see() -> None:
    """The oracle of these tests, by a pair that it tells apart and one that it does not."""
    assert colours(nx.path_graph(4)) != colours(nx.star_graph(3))
    assert colours(nx.cycle_graph(6)) == colours(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))

"""Every real dataset of one graph, against the numbers of the paper's tables and of those who publish the files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from engnn.data.dataset import Dataset
from engnn.data.splits import link_leaks

Open = Callable[..., Dataset]

PAPER_NODES = {  # |V| and |E| of the paper's table of node datasets; features and classes as published
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "pubmed": (19717, 44324, 500, 3),
    "computers": (13752, 245861, 767, 10),
    "photo": (7650, 119081, 745, 8),
    "chameleon": (2277, 31371, 2325, 5),
    "squirrel": (5201, 198353, 2089, 5),
    "actor": (7600, 26659, 932, 5),
    "texas": (183, 279, 1703, 5),
    "cornell": (183, 277, 1703, 5),
}
OTHER_NODES = {
    "chameleon-filtered": (890, 8854, 2325, 5),
    "squirrel-filtered": (2223, 46998, 2089, 5),
    "cornell-repaired": (183, 277, 1703, 5),
    "minesweeper": (10000, 39402, 7, 2),
    "coauthor-cs": (18333, 81894, 6805, 15),
    "coauthor-physics": (34493, 247962, 8415, 5),
    "dblp": (17716, 52867, 1639, 4),
}
PAPER_LINKS = {"cora": (2708, 5278, 0), "citeseer": (3327, 4676, 124), "pubmed": (19717, 44327, 3)}  # with self-loops
OTHER_LINKS = {
    "coauthor-cs": (18333, 81894),
    "coauthor-physics": (34493, 247962),
    "dblp": (17716, 52867),
    "usair": (332, 2126),
    "ns": (1589, 2742),
    "celegans": (297, 2148),
    "ecoli": (1805, 14660),
    "facebook": (4039, 88234),
    "ppi": (3890, 37845),
    "arxiv": (18772, 198050),
    "wikipedia": (4777, 92295),
    "blogcatalog": (10312, 333983),
    "string": (15131, 359776),
}
LINKS = {name: (nodes, edges - loops) for name, (nodes, edges, loops) in PAPER_LINKS.items()} | OTHER_LINKS


@pytest.mark.parametrize("name", [*PAPER_NODES, *OTHER_NODES])
def test_a_node_dataset_has_the_published_counts(name: str, open_or_skip: Open) -> None:
    dataset = open_or_skip(name, task="node")
    nodes, edges, features, classes = (PAPER_NODES | OTHER_NODES)[name]
    assert dataset.graphs.num_nodes.tolist() == [nodes]
    assert dataset.graphs.num_edges.tolist() == [2 * edges]
    assert dataset.graphs.in_channels == features
    assert len(dataset.classes) == classes
    assert dataset.y is not None
    assert dataset.y.unique().tolist() == list(range(classes))


@pytest.mark.parametrize("name", [*PAPER_NODES, *OTHER_NODES])
def test_edges_are_undirected_and_simple(name: str, open_or_skip: Open) -> None:
    graphs = open_or_skip(name, task="node").graphs
    source, target = graphs.edge_index.long()
    nodes = int(graphs.num_nodes)
    assert bool((source != target).all())
    there, back = (source * nodes + target).sort().values, (target * nodes + source).sort().values
    torch.testing.assert_close(there, back, rtol=0, atol=0)
    assert len(there.unique()) == len(there)
    assert 0 <= int(source.min()) <= int(source.max()) < nodes


@pytest.mark.parametrize("name", [*PAPER_NODES, *OTHER_NODES])
def test_the_default_split_is_60_20_20_of_the_nodes(name: str, open_or_skip: Open) -> None:
    dataset = open_or_skip(name, task="node")
    nodes = (PAPER_NODES | OTHER_NODES)[name][0]
    sizes = [len(dataset.split[part]) for part in ("train", "valid", "test")]
    assert sum(sizes) == nodes
    assert all(abs(size - share * nodes) < 1 for size, share in zip(sizes, (0.6, 0.2, 0.2), strict=True))
    assert dataset.split_name == "random"
    assert dataset.metric == ("roc_auc" if name == "minesweeper" else "accuracy")


@pytest.mark.parametrize("name", LINKS)
def test_a_link_dataset_has_the_published_counts_and_no_leak(name: str, open_or_skip: Open) -> None:
    dataset = open_or_skip(name, task="link")
    nodes, edges = LINKS[name]
    links = dataset.links
    assert links is not None
    assert dataset.graphs.num_nodes.tolist() == [nodes]
    sizes = [links.train.size(1), links.valid.size(1), links.test.size(1)]
    assert sum(sizes) == edges
    assert all(abs(size - share * edges) < 1 for size, share in zip(sizes, (0.7, 0.1, 0.2), strict=True))
    assert [links.valid_negatives.size(1), links.test_negatives.size(1)] == sizes[1:]
    assert dataset.graphs.num_edges.tolist() == [2 * sizes[0]]
    assert link_leaks(dataset) == ()
    assert dataset.metric == "hits@100"


@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_the_papers_link_table_counts_the_self_loops_that_are_left_out(name: str, open_or_skip: Open) -> None:
    note, *more = open_or_skip(name, task="link").notes
    _, edges, loops = PAPER_LINKS[name]
    assert f"{edges - loops} undirected edges" in note
    assert f"{loops} self-loops" in note
    assert any(f"{edges:,}" in line for line in more)


def test_the_default_task_of_a_dataset_with_two_is_node(open_or_skip: Open) -> None:
    assert open_or_skip("dblp").task == "node"

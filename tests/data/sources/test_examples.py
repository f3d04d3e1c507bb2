"""The example datasets that need no file, against networkx and against their definition."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from engnn.data.catalog import open_dataset
from engnn.data.sources.small_world import MOVED, NEAR, NODES, small_world
from engnn.data.splits import link_leaks


def test_karate_is_the_one_that_networkx_has() -> None:
    dataset, known = open_dataset("karate"), nx.karate_club_graph()
    assert {frozenset(edge) for edge in dataset.graphs.edge_index.T.tolist()} == {*map(frozenset, known.edges)}
    assert dataset.y is not None
    sides = [dataset.classes[side].lower() for side in dataset.y]
    assert sides == [known.nodes[member]["club"].lower() for member in known]


def test_a_small_world_is_a_ring_with_a_tenth_of_its_links_moved() -> None:
    first, second = small_world(0)
    near = (second - first) % NODES <= NEAR
    assert near.mean() == pytest.approx(1 - MOVED, abs=0.02)
    dataset = open_dataset("small-world", seed=3)
    assert dataset.links is not None
    assert not link_leaks(dataset)
    assert torch.equal(open_dataset("small-world", seed=3).links.test, dataset.links.test)
    assert not torch.equal(open_dataset("small-world", seed=4).links.test, dataset.links.test)

from __future__ import annotations

import networkx as nx

from engnn.data.catalog import open_dataset


def test_karate_is_the_one_that_networkx_has() -> None:
    dataset, known = open_dataset("karate"), nx.karate_club_graph()
    assert {frozenset(edge) for edge in dataset.graphs.edge_index.T.tolist()} == {*map(frozenset, known.edges)}
    assert dataset.y is not None
    sides = [dataset.classes[side].lower() for side in dataset.y]
    assert sides == [known.nodes[member]["club"].lower() for member in known]

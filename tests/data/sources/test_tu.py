from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from engnn.data.dataset import PARTS, Dataset
from engnn.data.splits import undirected


def test_mutag_has_the_published_counts(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("mutag")
    graphs = dataset.graphs
    assert len(graphs) == 188
    assert float(graphs.num_nodes.float().mean()) == pytest.approx(17.93, abs=0.005)
    assert float(graphs.num_edges.float().mean()) / 2 == pytest.approx(19.79, abs=0.005)
    assert (graphs.in_channels, graphs.edge_dim) == (7, 4)
    assert dataset.y is not None
    assert torch.bincount(dataset.y).tolist() == [63, 125]
    assert dataset.classes == ("-1", "1")


def test_mutag_s_edges_stay_within_their_graph_and_go_both_ways(open_or_skip: Callable[..., Dataset]) -> None:
    graphs = open_or_skip("mutag").graphs
    nodes_of_edge = torch.repeat_interleave(graphs.num_nodes, graphs.num_edges)
    assert (graphs.edge_index >= 0).all()
    assert (graphs.edge_index < nodes_of_edge).all()
    whole = graphs.batch()
    assert 2 * undirected(whole.num_nodes, whole.edge_index).size(1) == whole.edge_index.size(1)
    kinds = whole.edge_attr.argmax(1).tolist()
    bond = {tuple(pair): kind for pair, kind in zip(whole.edge_index.T.tolist(), kinds, strict=True)}
    assert all(bond[v, u] == kind for (u, v), kind in bond.items())


def test_mutag_is_split_within_each_class_and_by_seed(open_or_skip: Callable[..., Dataset]) -> None:
    one, other = (open_or_skip("mutag", seed=seed) for seed in (0, 1))
    assert [len(one.split[part]) for part in PARTS] == [151, 19, 18]
    assert torch.cat([one.split[part] for part in PARTS]).sort().values.equal(torch.arange(188))
    assert one.y is not None
    shares = [float(one.y[one.split[part]].float().mean()) for part in PARTS]
    assert shares == pytest.approx([125 / 188] * 3, abs=0.05)
    assert not torch.equal(one.split["test"], other.split["test"])

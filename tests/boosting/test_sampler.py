"""Neighbourhoods sampled in torch alone: what they hold, and that answers about seeds are those of the whole graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.nn.models import GraphSAGE
from torch_geometric.utils import k_hop_subgraph

from engnn.boosting import AddNoise, NeighbourSampler, boost
from engnn.errors import InputError


def graph(n: int = 40, m: int = 120) -> Data:
    torch.manual_seed(0)
    data = Data(torch.randn(n, 3), torch.randint(n, (2, m)), edge_attr=torch.arange(m))
    return AddNoise("normal", 8)(data)


def test_all_neighbours_of_two_hops_are_those_of_the_graph() -> None:
    data = graph()
    for batch in NodeLoader(data, NeighbourSampler(data, [-1, -1]), batch_size=7):
        seeds = batch.n_id[: batch.batch_size]
        nodes, *_ = k_hop_subgraph(seeds, 2, data.edge_index)
        assert sorted(batch.n_id.tolist()) == nodes.tolist()
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.noise, data.noise[batch.n_id])
        assert torch.equal(batch.edge_attr, batch.e_id)
        assert len(batch.e_id.unique()) == len(batch.e_id)
        assert sum(batch.num_sampled_nodes) == batch.num_nodes
        assert sum(batch.num_sampled_edges) == batch.num_edges


def test_no_more_neighbours_than_asked_for_and_every_one_as_likely() -> None:
    star = Data(edge_index=torch.stack([torch.arange(1, 7), torch.zeros(6).long()]), num_nodes=7)
    torch.manual_seed(0)
    loader = NodeLoader(star, NeighbourSampler(star, [2]), input_nodes=torch.zeros(3000).long(), batch_size=1)
    found: Counter[tuple[int, ...]] = Counter()
    for batch in loader:
        assert batch.num_edges == 2
        found[tuple(sorted(batch.n_id[1:].tolist()))] += 1
    assert len(found) == 15  # all pairs of six
    assert max(abs(count - 200) for count in found.values()) < 5 * 200**0.5


def test_a_model_says_of_the_seeds_what_it_says_in_the_whole_graph() -> None:
    data = graph()
    model = boost(GraphSAGE(3, 8, num_layers=2, out_channels=5), noise="normal", noise_channels=8, zero_init=False)
    for carrier in model.convs:  # ψ sees all nodes, and so cannot be the same in a sample
        torch.nn.init.zeros_(carrier.layer.branch.psi.mlp2.lin2.weight)
    model.eval()
    whole = model(data.x, data.edge_index, noise=data.noise)
    for batch in NodeLoader(data, NeighbourSampler(data, [-1, -1]), batch_size=16):
        said = model(batch.x, batch.edge_index, noise=batch.noise)[: batch.batch_size]
        torch.testing.assert_close(said, whole[batch.n_id[: batch.batch_size]])


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_links_are_loaded_with_negative_ones(mode: str) -> None:
    data = graph()
    sampler = NeighbourSampler(data, [3, 2])
    loader = LinkLoader(data, sampler, edge_label_index=data.edge_index, neg_sampling=mode, batch_size=30)
    for place, batch in enumerate(loader):
        given = data.edge_index[:, 30 * place : 30 * (place + 1)]
        if mode == "binary":
            assert torch.equal(batch.n_id[batch.edge_label_index[:, :30]], given)
            assert batch.edge_label.tolist() == [1.0] * 30 + [0.0] * 30
        else:
            assert torch.equal(batch.n_id[torch.stack([batch.src_index, batch.dst_pos_index])], given)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])


@pytest.mark.parametrize("numbers", [[], [0], [3, -2]])
def test_bad_use_is_told(numbers: list[int]) -> None:
    with pytest.raises(InputError, match="for each hop"):
        NeighbourSampler(graph(), numbers)


@pytest.mark.parametrize("data", [None, Data()])
def test_what_is_no_graph_is_told(data: Any) -> None:
    with pytest.raises(InputError, match="takes a Data"):
        NeighbourSampler(data, [1])

"""Neighbourhoods for the loaders of PyG, in torch alone: for where neither pyg-lib nor torch-sparse is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, NegativeSampling, NodeSamplerInput, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from engnn.errors import InputError
from engnn.sets import Sets


class NeighbourSampler(BaseSampler):
    """Up to so many neighbours of every node, hop by hop, for `NodeLoader` and `LinkLoader`.

    Transform the whole graph with `AddNoise` first: a node then keeps its noise in every batch.

    Args:
        data: the graph.
        num_neighbors: for each hop, how many of a node's in-edges are followed, without replacement; -1 for all.

    >>> from torch_geometric.loader import NodeLoader
    >>> ring = torch.arange(6)
    >>> data = Data(torch.randn(6, 2), torch.stack([ring, ring.roll(1)]))
    >>> batch = next(iter(NodeLoader(data, NeighbourSampler(data, [1, 1]), input_nodes=torch.tensor([3]))))
    >>> batch.n_id.tolist(), batch.edge_index.tolist()
    ([3, 4, 5], [[1, 2], [0, 1]])
    """

    def __init__(self, data: Data, num_neighbors: Sequence[int]) -> None:
        if not isinstance(data, Data) or data.edge_index is None:
            raise InputError("NeighbourSampler takes a Data of one type of nodes, with edge_index")
        if not num_neighbors or any(number < -1 or number == 0 for number in num_neighbors):
            raise InputError(
                f"num_neighbors={list(num_neighbors)}: give a number for each hop, at least 1, or -1 for all"
            )
        self.num_neighbors, self.num_nodes = list(num_neighbors), int(data.num_nodes)
        source, target = data.edge_index.cpu()
        self.edge = target.argsort(stable=True)  # the edges into node i are edge[first[i] : first[i] + degree[i]]
        self.source, self.degree = source[self.edge], Sets.of(target, self.num_nodes).sizes
        self.first = self.degree.cumsum(0) - self.degree

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> SamplerOutput:
        return edge_sample(index, self._sample, self.num_nodes, disjoint=False, neg_sampling=neg_sampling)

    def _sample(self, seed: Tensor, seed_time: Tensor | None = None) -> SamplerOutput:
        """The neighbourhoods of `seed`, hop by hop: nodes as they are found, edges by the hop that found them."""
        if seed_time is not None:
            raise InputError("NeighbourSampler knows no times: leave input_time out")
        number = torch.full((self.num_nodes,), -1)  # of each node, within the sample
        number[seed] = torch.arange(len(seed))
        nodes, edges, places = [seed], [], []
        for most in self.num_neighbors:
            place, owner = self._edges_into(nodes[-1], most)
            found = self.source[place]
            new = found[number[found] < 0].unique()
            number[new] = sum(map(len, nodes)) + torch.arange(len(new))
            edges.append(torch.stack([number[found], number[nodes[-1]][owner]]))
            places.append(place)
            nodes.append(new)
        row, col = torch.cat(edges, 1)
        return SamplerOutput(
            node=torch.cat(nodes),
            row=row,
            col=col,
            edge=self.edge[torch.cat(places)],
            num_sampled_nodes=[len(hop) for hop in nodes],
            num_sampled_edges=[len(hop) for hop in places],
        )

    def _edges_into(self, nodes: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Places of edges into `nodes`, at most `most` for each, and which of the nodes each leads to."""
        degree = self.degree[nodes]
        owner = torch.arange(len(nodes)).repeat_interleave(degree)
        within = torch.arange(len(owner)) - (degree.cumsum(0) - degree)[owner]
        place = self.first[nodes][owner] + within
        if most == -1:
            return place, owner
        shuffled = torch.rand(len(owner), dtype=torch.double).argsort()
        shuffled = shuffled[owner[shuffled].argsort(stable=True)]  # the edges of each node in random order
        kept = shuffled[within < most].sort().values
        return place[kept], owner[kept]

"""Pooling: what the model says of a graph, or of any set of its nodes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from engnn.nn.aggregator import EquivariantAggregator
from engnn.nn.deep_set import PERMUTATION, Symmetry, scale
from engnn.nn.linear import MLP
from engnn.nn.sets import Sets


class Targets(NamedTuple):
    """Sets of nodes: `nodes[i]` belongs to set `sets.owner[i]`, which lies in graph `graph[sets.owner[i]]`."""

    nodes: Tensor
    sets: Sets
    graph: Tensor


class Pooling(nn.Module):
    r"""The pooling layer: X′, Z′ = AGGR(X, Z), then their sums over each set, :math:`h_G = \sum_{i \in V} X'_i`."""

    def __init__(
        self, in_channels: int, out_channels: int, noise_dim: int, *, typical: float, symmetry: Symmetry
    ) -> None:
        super().__init__()
        self.aggr = EquivariantAggregator(
            in_channels, out_channels, noise_dim, noise_dim, typical=typical, symmetry=symmetry
        )
        self.typical = typical

    def reset_parameters(self) -> None:
        self.aggr.reset_parameters()

    def forward(self, x: Tensor, z: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
        x, z = self.aggr(x, z, sets)
        return sets.sum(x) * scale(sets, x, self.typical), sets.sum(z) * scale(sets, z, self.typical)


class SubsetReadout(nn.Module):
    r"""The representation of a node, a link, a subgraph or a graph, each a set U of nodes (end of "Expressivity"):

    .. math::
        X_G, Z_G &= \text{AGGR}(\{(X_i, Z_i) \mid i \in V\}) \\
        X_U, Z_U &= \text{AGGR}(\{(X_i, Z_i) \mid i \in U\}) \\
        h_U &= \text{MLP}(X_U \Vert X_G \Vert \text{DeepSet}(Z_U \Vert Z_G))

    `whole=True` is for U = V, the paper's pooling layer, where the second line would say the first again: it is left out.

    Args:
        in_channels, hidden_channels, out_channels: widths of x, inside, and of the answer.
        noise_dim: L, the width of z.
        whole: whether every target is a whole graph.
        typical: a typical number of nodes of a graph, τ of the sums over V (sums over U are means and sizes).
        symmetry: what the noise channels may undergo, `PERMUTATION` or `ORTHOGONAL`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        noise_dim: int,
        *,
        whole: bool = False,
        typical: float = 32.0,
        symmetry: Symmetry = PERMUTATION,
    ) -> None:
        super().__init__()
        pools = 1 if whole else 2
        self.graph = Pooling(in_channels, hidden_channels, noise_dim, typical=typical, symmetry=symmetry)
        self.subset = (
            None if whole else Pooling(in_channels, hidden_channels, noise_dim, typical=1.0, symmetry=symmetry)
        )
        self.deep_set = symmetry.encoding([noise_dim] * pools, noise_dim, hidden_channels)
        self.mlp = MLP([hidden_channels] * (pools + 1), hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for module in (self.graph, self.subset, self.deep_set, self.mlp):
            if module is not None:
                module.reset_parameters()

    def forward(self, x: Tensor, z: Tensor, graphs: Sets, targets: Targets | None = None) -> Tensor:
        x_g, z_g = self.graph(x, z, graphs)
        if self.subset is None:
            out: Tensor = self.mlp(x_g, self.deep_set(z_g))  # h_G
            return out
        if targets is None:
            raise ValueError("targets are needed: this readout was made for sets of nodes; pass whole=True for graphs")
        x_u, z_u = self.subset(x[targets.nodes], z[targets.nodes], targets.sets)
        x_g, z_g = x_g.index_select(0, targets.graph), z_g.index_select(0, targets.graph)
        out = self.mlp(x_u, x_g, self.deep_set(z_u, z_g))  # h_U
        return out


def node_targets(nodes: Tensor, batch: Tensor) -> Targets:
    """One set for each of `nodes` `[T]`."""
    each = torch.arange(nodes.size(0), device=nodes.device)
    return Targets(nodes, Sets(each, nodes.size(0), torch.ones_like(each)), batch[nodes])


def link_targets(pairs: Tensor, batch: Tensor) -> Targets:
    """One set for each column of `pairs` `[2, T]`."""
    each = torch.arange(pairs.size(1), device=pairs.device)
    return Targets(pairs.flatten(), Sets(each.repeat(2), pairs.size(1), torch.full_like(each, 2)), batch[pairs[0]])


def subgraph_targets(nodes: Tensor, index: Tensor, num: int | None, batch: Tensor) -> Targets:
    """Sets of any size: `nodes[i]` belongs to set `index[i]` of `num`."""
    sets = Sets.of(index, num)
    graph = torch.zeros(sets.num, dtype=torch.long, device=index.device)
    return Targets(nodes, sets, graph.index_copy(0, index, batch[nodes]))

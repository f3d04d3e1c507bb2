"""Pooling: what the model says of a graph, or of any set of its nodes."""

from __future__ import annotations

from torch import Tensor

from engnn.nn.aggregator import EquivariantAggregator
from engnn.nn.deep_set import PERMUTATION, Symmetry
from engnn.nn.linear import MLP, Module
from engnn.sets import Level, Sets, Targets


class Pooling(Module):
    r"""The pooling layer: X′, Z′ = AGGR(X, Z), then their sums over each set, :math:`h_G = \sum_{i \in V} X'_i`."""

    def __init__(
        self, in_channels: int, out_channels: int, noise_dim: int, *, typical: float, symmetry: Symmetry
    ) -> None:
        super().__init__()
        widths, self.typical = (in_channels, out_channels, noise_dim, noise_dim), typical
        self.aggr = EquivariantAggregator(*widths, typical=typical, symmetry=symmetry)

    def forward(self, x: Tensor, z: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
        x, z = self.aggr(x, z, sets)
        return sets.sum(x) * sets.scale(x, self.typical), sets.sum(z) * sets.scale(z, self.typical)


class SubsetReadout(Module):
    r"""The representation of a node, a link, a subgraph or a graph, each a set U of nodes (end of "Expressivity"):

    .. math::
        X_G, Z_G &= \text{AGGR}(\{(X_i, Z_i) \mid i \in V\}) \\
        X_U, Z_U &= \text{AGGR}(\{(X_i, Z_i) \mid i \in U\}) \\
        h_U &= \text{MLP}(X_U \Vert X_G \Vert \text{DeepSet}(Z_U \Vert Z_G))

    Level `graph` is for U = V, the paper's pooling layer, where the second line would say the first again.

    Args:
        in_channels, hidden_channels, out_channels, noise_dim: widths of x, inside, of the answer, and L of z.
        level: what U are. Of a link, :math:`X_u \odot X_v` is a part too, without which likeness is hardly learned.
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
        level: Level = "subgraph",
        typical: float = 32.0,
        symmetry: Symmetry = PERMUTATION,
    ) -> None:
        super().__init__()
        pools, pool = 1 if level == "graph" else 2, (in_channels, hidden_channels, noise_dim)
        self.graph = Pooling(*pool, typical=typical, symmetry=symmetry)
        self.subset = None if level == "graph" else Pooling(*pool, typical=1.0, symmetry=symmetry)
        self.deep_set = symmetry.phi([noise_dim] * pools, noise_dim, hidden_channels)
        self.pair = level == "link"
        self.mlp = MLP([hidden_channels] * (pools + 1) + [in_channels] * self.pair, hidden_channels, out_channels)

    def forward(self, x: Tensor, z: Tensor, graphs: Sets, targets: Targets | None = None) -> Tensor:
        out: Tensor
        x_g, z_g = self.graph(x, z, graphs)
        if self.subset is None:
            out = self.mlp(x_g, self.deep_set(z_g))  # h_G
            return out
        if targets is None:
            raise ValueError("targets are needed: this readout was made for sets of nodes, not for level='graph'")
        own, graph = x.index_select(0, targets.nodes), targets.graph
        x_u, z_u = self.subset(own, z.index_select(0, targets.nodes), targets.sets)
        x_g, z_g = x_g.index_select(0, graph), z_g.index_select(0, graph)
        pair = [own[: targets.sets.num] * own[targets.sets.num :]] if self.pair else []
        out = self.mlp(x_u, x_g, self.deep_set(z_u, z_g), *pair)  # h_U
        return out

r"""PPGN (Maron et al., "Provably Powerful Graph Networks", NeurIPS 2019).

Pairs of nodes have representations, which are multiplied as matrices, channel by channel:

.. math::

    H^{(k+1)} = \operatorname{MLP}_3\bigl[H^{(k)} \,\|\, M\bigr], \qquad
    M_{ij} = \sum_{l} \operatorname{MLP}_1(H^{(k)}_{il}) \odot \operatorname{MLP}_2(H^{(k)}_{lj})

of :math:`H^{(0)}_{ij} = [A_{ij} \,\|\, e_{ij} \,\|\, [i = j] \,\|\, [i = j] x_i]`. A node's embedding is made of its
diagonal entry and its row's sum.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool
from torch_geometric.utils import to_dense_adj

from engnn.baselines._model import Baseline, Given, mlp
from engnn.errors import InputError

MOST = 500  # nodes of a graph: all is n × n


class PPGN(Baseline):
    """`num_layers` products of matrices.

    >>> PPGN(3, 16, 2, 2, level="graph")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        level: str,
        edge_dim: int | None = None,
        typical: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        _refuse_large(typical)
        super().__init__(in_channels, hidden_channels, out_channels, level=level, pool=global_add_pool)
        self.edge_dim = edge_dim or 0
        widths = [2 + self.in_channels + self.edge_dim, *[hidden_channels] * num_layers]
        self.blocks = nn.ModuleList(_Block(one, hidden_channels) for one in widths[:-1])
        self.dropout = nn.Dropout(dropout)
        self.lin = nn.Linear(2 * hidden_channels, self.width)

    def encode(self, given: Given) -> Tensor:
        sizes = torch.bincount(given.batch, minlength=given.size)
        most = int(sizes.max())
        _refuse_large(most)
        order = torch.argsort(given.batch, stable=True)  # PyG's dense form wants the nodes graph by graph
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device)
        batch = given.batch[order]
        within = torch.arange(len(order), device=order.device) - (sizes.cumsum(0) - sizes)[batch]
        edges = given.x.new_ones(given.edge_index.size(1), 1)
        if self.edge_dim and given.edge_attr is not None:
            edges = torch.cat([edges, given.edge_attr], dim=1)
        pairs = to_dense_adj(place[given.edge_index], batch, edges, most, given.size).view(
            given.size, most, most, 1 + self.edge_dim
        )
        own = torch.cat([torch.ones_like(given.x[:, :1]), given.x], dim=1)[order]
        diagonal = given.x.new_zeros(given.size, most, own.size(1)).index_put((batch, within), own)
        h = torch.cat([pairs, torch.diag_embed(diagonal.transpose(1, 2)).permute(0, 2, 3, 1)], dim=-1)
        there = torch.arange(most, device=order.device) < sizes[:, None]
        mask = (there[:, :, None] & there[:, None, :])[..., None]
        for block in self.blocks:
            h = self.dropout(block(h, mask))
        both = torch.cat([h.diagonal(dim1=1, dim2=2).transpose(1, 2), h.sum(2)], dim=-1)
        out: Tensor = self.lin(both[batch, within])[place]
        return out


def _refuse_large(nodes: float) -> None:
    """Before anything is trained, where all graphs are as large, and else when one comes."""
    if nodes > MOST:
        raise InputError(
            f"ppgn works on n × n matrices, and a graph here has {nodes:.0f} nodes (at most {MOST}): "
            "take another --model"
        )


class _Block(nn.Module):
    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.left, self.right = mlp(width, out, out), mlp(width, out, out)
        self.skip = mlp(width + out, out, out)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        left, right = (side(h) * mask for side in (self.left, self.right))
        product = torch.einsum("bilc,bljc->bijc", left, right)
        out: Tensor = self.skip(torch.cat([h, product], dim=-1)) * mask
        return out


MODEL = PPGN

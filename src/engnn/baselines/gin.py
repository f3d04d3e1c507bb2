r"""GIN (Xu et al., "How Powerful are Graph Neural Networks?", ICLR 2019); with edge features GINE (Hu et al., 2020).

.. math::

    x_i^{(k+1)} = \operatorname{MLP}_k\Bigl((1 + \epsilon_k) x_i^{(k)} + \sum_{j \in N(i)} m_{ij}\Bigr), \qquad
    m_{ij} = x_j^{(k)} \text{ or, with edge features, } \operatorname{ReLU}(x_j^{(k)} + W_k e_{ij})

PyG's convolutions; a node's embedding is made of all its layers', and a graph's is the sum over its nodes, as in the
paper.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given


class GIN(Baseline):
    """`num_layers` sums over neighbours, each under an MLP of two layers.

    >>> GIN(3, 16, 2, 2, level="graph")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level, pool=pyg.global_add_pool)
        self.edge_dim = edge_dim
        self.lin = nn.Linear(self.in_channels, hidden_channels)
        self.convs = nn.ModuleList(self._conv(hidden_channels, edge_dim) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.jump = nn.Linear((num_layers + 1) * hidden_channels, self.width)

    def encode(self, given: Given) -> Tensor:
        edges = {} if self.edge_dim is None else {"edge_attr": given.edge_attr}
        layers = [self.lin(given.x)]
        for conv in self.convs:
            layers.append(self.dropout(conv(layers[-1], given.edge_index, **edges)))
        h: Tensor = self.jump(torch.cat(layers, dim=-1))
        return h

    @staticmethod
    def _conv(width: int, edge_dim: int | None) -> nn.Module:
        update = nn.Sequential(
            nn.Linear(width, width),
            pyg.BatchNorm(width, allow_single_element=True),
            nn.ReLU(),
            nn.Linear(width, width),
            pyg.BatchNorm(width, allow_single_element=True),
            nn.ReLU(),
        )
        conv: nn.Module
        if edge_dim is None:
            conv = pyg.GINConv(update, train_eps=True)
        else:
            conv = pyg.GINEConv(update, train_eps=True, edge_dim=edge_dim)
        return conv


MODEL = GIN

r"""GPRGNN (Chien et al., "Adaptive Universal Generalized PageRank Graph Neural Network", ICLR 2021).

.. math:: Z = \sum_{k=0}^{K} \gamma_k \hat A^k \operatorname{MLP}(X), \qquad
    \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

with learnt weights, which begin as the personalised PageRank's: :math:`\gamma_k = \alpha (1 - \alpha)^k` and
:math:`\gamma_K = (1 - \alpha)^K`. K is `num_layers`. Edge features and weights are not used.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from engnn.baselines._model import Baseline, Given, mlp
from engnn.baselines._product import product

ALPHA = 0.1


class GPRGNN(Baseline):
    """An MLP of two layers, and then a polynomial of degree `num_layers` in the adjacency.

    >>> GPRGNN(3, 16, 2, 10, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        level: str,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level)
        self.mlp = nn.Sequential(
            nn.Dropout(dropout), mlp(self.in_channels, hidden_channels, self.width, dropout=dropout)
        )
        weights = ALPHA * (1 - ALPHA) ** torch.arange(num_layers + 1.0)
        weights[-1] = (1 - ALPHA) ** num_layers
        self.gamma = nn.Parameter(weights)
        self.dropout = nn.Dropout(dropout)

    def encode(self, given: Given) -> Tensor:
        return self.filter(self.dropout(self.mlp(given.x)), given.edge_index)

    def filter(self, h: Tensor, edge_index: Tensor) -> Tensor:
        r""":math:`\sum_k \gamma_k \hat A^k h`."""
        edge_index, weight = gcn_norm(edge_index, num_nodes=len(h), dtype=h.dtype)
        z = self.gamma[0] * h
        for gamma in self.gamma[1:]:
            h = product(edge_index, weight, h)
            z = z + gamma * h
        return z


MODEL = GPRGNN

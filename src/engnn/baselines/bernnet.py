r"""BernNet (He et al., "BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approximation", NeurIPS 2021).

.. math:: Z = \sum_{k=0}^{K} \theta_k \frac{1}{2^K} \binom{K}{k} (2I - L)^{K-k} L^k \operatorname{MLP}(X), \qquad
    L = I - D^{-1/2} A D^{-1/2}, \quad \theta_k \ge 0

:math:`\theta_k` is what the filter does to the eigenvalue :math:`2k/K` of L, learnt and beginning with 1, where the
filter changes nothing. K is `num_layers`. Edge features and weights are not used.
"""

from __future__ import annotations

from math import comb

import torch
from torch import Tensor, nn
from torch_geometric.utils import get_laplacian

from engnn.baselines._model import Baseline, Given, mlp
from engnn.baselines._product import product


class BernNet(Baseline):
    """An MLP of two layers, and then a Bernstein polynomial of degree `num_layers` in the Laplacian.

    >>> BernNet(3, 16, 2, 10, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        self.theta = nn.Parameter(torch.ones(num_layers + 1))
        self.dropout = nn.Dropout(dropout)

    def encode(self, given: Given) -> Tensor:
        return self.filter(self.dropout(self.mlp(given.x)), given.edge_index)

    def filter(self, h: Tensor, edge_index: Tensor) -> Tensor:
        r"""The sum over k; both powers are built up one factor at a time, in 2K products, as Horner's rule allows."""
        degree = len(self.theta) - 1
        edge_index, weight = get_laplacian(edge_index, normalization="sym", dtype=h.dtype, num_nodes=len(h))
        powers = [h]  # ((2I − L) / 2)ʲ h
        for _ in range(degree):
            powers.append(powers[-1] - product(edge_index, weight / 2, powers[-1]))
        theta = self.theta.relu()
        z = theta[degree] * h
        for k in range(degree - 1, -1, -1):
            z = product(edge_index, weight / 2, z) + comb(degree, k) * theta[k] * powers[degree - k]
        return z


MODEL = BernNet

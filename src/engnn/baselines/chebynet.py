r"""ChebyNet (Defferrard, Bresson and Vandergheynst, "Convolutional Neural Networks on Graphs with Fast Localized
Spectral Filtering", NeurIPS 2016).

.. math::

    X^{(k+1)} = \sigma\Bigl(\sum_{t=0}^{2} T_t(L - I) X^{(k)} W_{k,t}\Bigr), \qquad
    T_0(x) = 1, \quad T_1(x) = x, \quad T_t(x) = 2 x T_{t-1}(x) - T_{t-2}(x)

with :math:`L = I - D^{-1/2} A D^{-1/2}`, whose largest eigenvalue is taken to be 2. PyG's convolution. Edge features
and weights are not used.
"""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given

TERMS = 3  # of the polynomial of a layer, which so reaches two hops far


class ChebyNet(Baseline):
    """`num_layers` convolutions with ReLU between them.

    >>> import torch
    >>> ChebyNet(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        widths = [self.in_channels, *[hidden_channels] * (num_layers - 1), self.width]
        self.convs = nn.ModuleList(pyg.ChebConv(one, other, TERMS) for one, other in pairwise(widths))
        self.dropout = nn.Dropout(dropout)

    def encode(self, given: Given) -> Tensor:
        x, edge_index = given.x, given.edge_index
        *convs, last = self.convs
        for conv in convs:
            x = conv(self.dropout(x), edge_index).relu()
        h: Tensor = last(self.dropout(x), edge_index)
        return h


MODEL = ChebyNet

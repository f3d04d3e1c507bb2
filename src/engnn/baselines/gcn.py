r"""GCN (Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017).

.. math:: X^{(k+1)} = \sigma\bigl(\hat A X^{(k)} W_k\bigr), \qquad \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

PyG's implementation. Edge features and weights are not used.
"""

from __future__ import annotations

from torch import Tensor
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given


class GCN(Baseline):
    """`num_layers` graph convolutions with ReLU between them.

    >>> import torch
    >>> GCN(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        self.gnn = pyg.GCN(self.in_channels, hidden_channels, num_layers, self.width, dropout=dropout)

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.gnn(given.x, given.edge_index)
        return h


MODEL = GCN

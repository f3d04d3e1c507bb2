r"""GAT (Veličković et al., "Graph Attention Networks", ICLR 2018).

.. math::

    x_i^{(k+1)} = \sigma\Bigl(\sum_{j \in N(i) \cup \{i\}} \alpha_{ij} W_k x_j^{(k)}\Bigr), \qquad
    \alpha_{ij} = \operatorname{softmax}_j
    \operatorname{LeakyReLU}\bigl(a_k^\top [W_k x_i^{(k)} \,\|\, W_k x_j^{(k)}]\bigr)

PyG's implementation, eight heads side by side where the width can be shared by so many. Edge features and weights are
not used.
"""

from __future__ import annotations

from math import gcd

from torch import Tensor
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given


class GAT(Baseline):
    """`num_layers` layers of attention over neighbours with ReLU between them.

    >>> import torch
    >>> GAT(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        heads = gcd(8, hidden_channels)
        self.gnn = pyg.GAT(self.in_channels, hidden_channels, num_layers, self.width, heads=heads, dropout=dropout)

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.gnn(given.x, given.edge_index)
        return h


MODEL = GAT

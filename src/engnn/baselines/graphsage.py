r"""GraphSAGE (Hamilton, Ying and Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017).

.. math:: x_i^{(k+1)} = \sigma\bigl(W_k x_i^{(k)} + V_k \operatorname{mean}_{j \in N(i)} x_j^{(k)}\bigr)

PyG's implementation, with all neighbours instead of a sample. Edge features and weights are not used.
"""

from __future__ import annotations

from torch import Tensor
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given


class GraphSAGE(Baseline):
    """`num_layers` convolutions over neighbours' means with ReLU between them.

    >>> import torch
    >>> GraphSAGE(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        self.gnn = pyg.GraphSAGE(self.in_channels, hidden_channels, num_layers, self.width, dropout=dropout)

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.gnn(given.x, given.edge_index)
        return h


MODEL = GraphSAGE

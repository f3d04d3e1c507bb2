r"""APPNP (Gasteiger, Bojchevski and Günnemann, "Predict then Propagate", ICLR 2019).

.. math:: Z^{(0)} = \operatorname{MLP}(X), \qquad Z^{(k+1)} = (1 - \alpha) \hat A Z^{(k)} + \alpha Z^{(0)}

with :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`: the personalised PageRank of the predictions, in
`num_layers` steps. PyG's propagation. Edge features and weights are not used.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric import nn as pyg

from engnn.baselines._model import Baseline, Given, mlp

ALPHA = 0.1  # the paper's


class APPNP(Baseline):
    """An MLP of two layers, and then `num_layers` steps.

    >>> import torch
    >>> APPNP(3, 16, 2, 10, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        self.propagate = pyg.APPNP(num_layers, ALPHA)

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.propagate(self.mlp(given.x), given.edge_index)
        return h


MODEL = APPNP

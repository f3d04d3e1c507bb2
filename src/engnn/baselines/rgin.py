r"""rGIN (Sato, Yamada and Kashima, "Random Features Strengthen Graph Neural Networks", SDM 2021), also known as GNN-RNI
(Abboud et al., "The Surprising Power of Graph Neural Networks with Random Node Initialization", IJCAI 2021).

.. math:: x_i^{(0)} = W [x_i \,\|\, r_i], \qquad r_i \sim \mathcal{N}(0, I_C)

and then GIN. The noise is a plain feature, as in engnn's variant `nmpnn`, which is the same for another convolution.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engnn.baselines._model import Given, NoisyBaseline
from engnn.baselines.gin import GIN


class RGIN(NoisyBaseline):
    """GIN on node features and `noise_channels` random ones.

    >>> RGIN(3, 16, 2, 2, level="graph", noise_channels=4)(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([1, 2])
    """

    kind = "normal"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        level: str,
        noise_channels: int,
        edge_dim: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level)
        self.noise_channels = noise_channels
        self.gin = GIN(
            self.in_channels + noise_channels,
            hidden_channels,
            out_channels,
            num_layers,
            level=level,
            edge_dim=edge_dim,
            dropout=dropout,
        )
        self.head = nn.Identity()  # GIN's own answers are this model's

    def encode(self, given: Given) -> Tensor:
        assert given.noise is not None
        return self.gin.encode(given._replace(x=torch.cat([given.x, given.noise], dim=1)))

    def answers(self, h: Tensor, given: Given) -> Tensor:
        return self.gin.answers(h, given)


MODEL = RGIN

r"""DropGNN (Papp et al., "DropGNN: Random Dropouts Increase the Expressiveness of Graph Neural Networks", NeurIPS
2021).

.. math:: h_i = \frac{1}{R} \sum_{r=1}^{R} \operatorname{GIN}(X \odot m_r, A)_i, \qquad P(m_{r,i} = 0) = p

In each of R runs every node is dropped with probability p, in training and ever after: its features are zero then. R is
`noise_channels`. The paper advises p = 1 / (1 + g), with g nodes within reach; here g is the typical degree.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn

from engnn.baselines._model import Given, NoisyBaseline
from engnn.baselines.gin import GIN


class DropGNN(NoisyBaseline):
    """GIN in `noise_channels` runs, each of which misses some nodes.

    >>> DropGNN(3, 16, 2, 2, level="graph", noise_channels=4)(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([1, 2])
    """

    kind = "uniform"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        level: str,
        noise_channels: int,
        degree: float = 4.0,
        edge_dim: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level)
        self.noise_channels = noise_channels
        self.dropped = 1 / (1 + degree)
        self.gin = GIN(
            self.in_channels,
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
        n, runs = given.noise.shape
        kept = (given.noise / sqrt(3) + 1) / 2 >= self.dropped  # the noise is uniform between −√3 and √3
        shift = n * torch.arange(runs, device=given.x.device)[:, None]
        several = given._replace(
            x=(given.x * kept.T[:, :, None]).flatten(0, 1),
            edge_index=(given.edge_index[:, None] + shift).flatten(1),
            edge_attr=None if given.edge_attr is None else given.edge_attr.repeat(runs, 1),
        )
        return self.gin.encode(several).view(runs, n, -1).mean(0)

    def answers(self, h: Tensor, given: Given) -> Tensor:
        return self.gin.answers(h, given)


MODEL = DropGNN

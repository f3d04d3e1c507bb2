r"""NGNN (Zhang and Li, "Nested Graph Neural Networks", NeurIPS 2021).

A GNN in the rooted subgraph of each node, whose nodes know how far they are from the root, makes that node's embedding:

.. math:: x_i = \frac{1}{|B(i)|} \sum_{u \in B(i)} \operatorname{GIN}\bigl([x_u \,\|\, d(i, u)], A[B(i)]\bigr)_u

where B(i) are the nodes within `HOPS` steps of i.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch_geometric.nn import global_add_pool, global_mean_pool

from engnn.baselines._egonets import ego_nets
from engnn.baselines._model import Baseline, Given
from engnn.baselines.gin import GIN

HOPS = 2


class NGNN(Baseline):
    """GIN of `num_layers` in the rooted subgraph of each node.

    >>> NGNN(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        edge_dim: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level, pool=global_add_pool)
        self.gin = GIN(
            self.in_channels + HOPS + 1,
            hidden_channels,
            hidden_channels,
            num_layers,
            level="node",
            edge_dim=edge_dim,
            dropout=dropout,
        )
        self.lin = nn.Sequential(nn.ReLU(), nn.Linear(hidden_channels, self.width))

    def encode(self, given: Given) -> Tensor:
        nets = ego_nets(given.edge_index, len(given.x), HOPS)
        distance = one_hot(nets.distance, HOPS + 1).to(given.x.dtype)
        inside = given._replace(
            x=torch.cat([given.x[nets.node], distance], dim=1),
            edge_index=nets.edge_index,
            edge_attr=None if given.edge_attr is None else given.edge_attr[nets.edge],
        )
        out: Tensor = self.lin(global_mean_pool(self.gin.encode(inside), nets.root, len(given.x)))
        return out


MODEL = NGNN

r"""ID-GNN (You et al., "Identity-aware Graph Neural Networks", AAAI 2021).

In the ego net of each node i, messages from i itself have weights of their own, and so i learns of the cycles it is on:

.. math::

    h_{u}^{(k+1)} = \operatorname{MLP}_k\Bigl((1 + \epsilon_k) h_u^{(k)}
        + \sum_{v \in N(u)} W_k^{[v = i]} h_v^{(k)}\Bigr), \qquad x_i = [h_i^{(0)} \| \dots \| h_i^{(K)}]

with GIN for the convolution, in ego nets of as many hops as there are layers. Edge features are not used.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, global_add_pool

from engnn.baselines._egonets import ego_nets
from engnn.baselines._model import Baseline, Given


class IDGNN(Baseline):
    """`num_layers` convolutions in the ego net of each node.

    >>> IDGNN(3, 16, 2, 2, level="node")(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]])).shape
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
        super().__init__(in_channels, hidden_channels, out_channels, level=level, pool=global_add_pool)
        self.lin = nn.Linear(self.in_channels, hidden_channels)
        self.layers = nn.ModuleList(_Layer(hidden_channels, last=k == num_layers - 1) for k in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.jump = nn.Linear((num_layers + 1) * hidden_channels, self.width)

    def encode(self, given: Given) -> Tensor:
        nets = ego_nets(given.edge_index, len(given.x), len(self.layers))
        root = nets.distance == 0
        h = self.lin(given.x)[nets.node]
        seen = [h[root]]
        for layer in self.layers:
            h = self.dropout(layer(h, nets.edge_index, root))
            seen.append(h[root])
        out: Tensor = self.jump(torch.cat(seen, dim=1))
        return out


class _Layer(nn.Module):
    """One convolution; nothing hears of what the root says in the last one, so that it needs no weights for it."""

    def __init__(self, width: int, *, last: bool) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.others = nn.Linear(width, width)
        self.itself = None if last else nn.Linear(width, width)
        self.update = nn.Sequential(
            nn.Linear(width, width),
            BatchNorm(width, allow_single_element=True),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )

    def forward(self, h: Tensor, edge_index: Tensor, root: Tensor) -> Tensor:
        message = self.others(h)
        if self.itself is not None:
            message = torch.where(root[:, None], self.itself(h), message)
        source, target = edge_index
        out: Tensor = self.update((1 + self.eps) * h + torch.zeros_like(h).index_add(0, target, message[source]))
        return out


MODEL = IDGNN

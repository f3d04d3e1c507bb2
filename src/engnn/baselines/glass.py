r"""GLASS (Wang and Zhang, "GLASS: GNN with Labeling Tricks for Subgraph Representation Learning", ICLR 2022).

Nodes of the subgraph in question are labelled, z = 1, and both sides of a convolution know of the label:

.. math::

    m_i = \operatorname{mix}_{z_i}(U_1 x_i, U_0 x_i), \qquad
    x_i' = \operatorname{mix}_{z_i}\Bigl(V_1 [x_i \| a_i],\; V_0 [x_i \| a_i]\Bigr), \qquad
    a_i = \operatorname{mean}_{j \in N(i)} \sigma(m_j)

with :math:`\operatorname{mix}_z(a, b) = w a + (1 - w) b` where z is 1 and :math:`(1 - w) a + w b` where it is 0. Each
subgraph is labelled in a copy of the graph, so that its answer does not hang on what else is asked; the paper labels
all subgraphs of a batch at once, to save time. Edge features are not used.

Of a copy only those nodes are computed that matter and that differ from those of the unlabelled graph: after k of K
layers a label is heard of within k steps, and the answer hears of what is within K - k. So a copy holds what is within
K / 2 steps of the subgraph; beyond is the unlabelled graph, which all copies share.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool

from engnn.baselines._egonets import ego_nets
from engnn.baselines._model import Baseline, Given

WEIGHT = 0.8  # w: so much a label decides


class GLASS(Baseline):
    """`num_layers` labelled convolutions.

    >>> model = GLASS(3, 16, 2, 2, level="subgraph")
    >>> targets = (torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), 2)
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=targets).shape
    torch.Size([2, 2])
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
        super().__init__(in_channels, hidden_channels, out_channels, level=level, levels=("subgraph",))
        self.lin = nn.Linear(self.in_channels, hidden_channels)
        self.layers = nn.ModuleList(_Layer(hidden_channels) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.jump = nn.Linear((num_layers + 1) * hidden_channels, hidden_channels)

    def encode(self, given: Given) -> Tensor:
        """Embeddings `[m, d]` of the members of the subgraphs, in the order of the targets."""
        assert isinstance(given.targets, tuple)
        nodes, index, _ = given.targets
        n = len(given.x)
        members = index * n + nodes
        nets = ego_nets(given.edge_index, n, len(self.layers) // 2, torch.unique(members))
        label, plain = nets.distance == 0, torch.zeros_like(given.batch, dtype=torch.bool)
        degree = torch.bincount(given.edge_index[1], minlength=n).clamp(min=1)[:, None].to(given.x.dtype)
        whole = self.lin(given.x)
        layers = [whole[nets.node]]
        far = nets.distance[nets.edge_index]
        for k, layer in enumerate(self.layers, 1):
            assert isinstance(layer, _Layer)
            unlabelled, said = layer.messages(whole, plain), layer.messages(layers[-1], label)
            heard = _sums(unlabelled, given.edge_index)
            other = nets.edge_index[:, (far[0] < k) & (far[1] <= len(self.layers) - k)]
            here = heard[nets.node] + _sums(said - unlabelled[nets.node], other)
            layers.append(self.dropout(layer(layers[-1], here / degree[nets.node], label)))
            whole = self.dropout(layer(whole, heard / degree, plain))
        place = torch.searchsorted(nets.root * n + nets.node, members)
        out: Tensor = self.jump(torch.cat(layers, dim=1)[place])
        return out

    def answers(self, h: Tensor, given: Given) -> Tensor:
        assert isinstance(given.targets, tuple)
        _, index, count = given.targets
        out: Tensor = self.head(global_add_pool(h, index, count))
        return out


class _Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width)])
        self.norm = nn.LayerNorm(width)
        self.update = nn.ModuleList([nn.Linear(2 * width, width), nn.Linear(2 * width, width)])

    def messages(self, x: Tensor, label: Tensor) -> Tensor:
        """The messages of all nodes."""
        return _mix(self.message, x, label).relu()

    def forward(self, x: Tensor, mean: Tensor, label: Tensor) -> Tensor:
        return _mix(self.update, torch.cat([x, self.norm(mean)], dim=1), label)


def _sums(h: Tensor, edge_index: Tensor) -> Tensor:
    """Over the edges that come in at each node."""
    source, target = edge_index
    return torch.zeros_like(h).index_add(0, target, h[source])


def _mix(sides: nn.ModuleList, x: Tensor, label: Tensor) -> Tensor:
    unlabelled, labelled = (side(x) for side in sides)
    weight = torch.where(label, WEIGHT, 1 - WEIGHT)[:, None].to(x.dtype)
    mixed: Tensor = weight * labelled + (1 - weight) * unlabelled
    return mixed


MODEL = GLASS

r"""Neo-GNN (Yun et al., "Neo-GNNs: Neighborhood Overlap-aware Graph Neural Networks for Link Prediction", NeurIPS
2021).

Each node has a learnt structural feature, made of its edges alone, and two nodes score by what they overlap in:

.. math::

    x_k = F_{\text{node}}\Bigl(\sum_{l \in N(k)} F_{\text{edge}}(A_{kl})\Bigr), \qquad
    s_{ij} = \sum_k M_{ik} x_k \cdot M_{jk} x_k, \qquad M = \sum_{p=1}^{2} \beta^{p-1} A^p

where F are MLPs. The answer is :math:`\alpha` of an MLP of the overlap and :math:`1 - \alpha` of GCN's, with learnt
:math:`\alpha`. Edge features and weights are not used.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from engnn.baselines._egonets import crowded, matrix, two_steps
from engnn.baselines._model import Baseline, Given, mlp
from engnn.baselines._neighbours import shared

BETA = 0.1


class NeoGNN(Baseline):
    """Overlaps of neighbourhoods, weighted by what is learnt of each node; beside GCN of `num_layers`.

    >>> model = NeoGNN(3, 16, 1, 2, level="link")
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=torch.tensor([[0], [2]])).shape
    torch.Size([1, 1])
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
        super().__init__(in_channels, hidden_channels, out_channels, level=level, levels=("link",))
        self.gnn = pyg.GCN(self.in_channels, hidden_channels, num_layers, self.width, dropout=dropout)
        self.edge, self.node = mlp(1, 8, 1), mlp(1, hidden_channels, 1)
        self.overlap = mlp(1, hidden_channels, out_channels)
        self.alpha = nn.Parameter(torch.zeros(1))

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.gnn(given.x, given.edge_index)
        return h

    def answers(self, h: Tensor, given: Given) -> Tensor:
        assert isinstance(given.targets, Tensor)
        degree = torch.bincount(given.edge_index[0], minlength=len(h)).to(h.dtype)[:, None]
        x = self.node(degree * self.edge(degree.new_ones(1, 1)))[:, 0]
        score = overlap(given.edge_index, x, given.targets)[:, None]
        share = self.alpha.sigmoid()
        out: Tensor = share * self.overlap(score) + (1 - share) * super().answers(h, given)
        return out


def overlap(edge_index: Tensor, x: Tensor, pairs: Tensor) -> Tensor:
    r""":math:`s_{ij}` for each pair, from the structural features `[n]`."""
    n = len(x)
    if crowded(edge_index, n):
        one = matrix(edge_index, n, x)
        both = one + BETA * one @ one
        whole: Tensor = (both * x.square()) @ both.T
        return whole[pairs[0], pairs[1]]
    steps, walks = edge_index[0] * n + edge_index[1], two_steps(edge_index, n)
    codes, place = torch.unique(torch.cat([steps, walks]), return_inverse=True)
    weight = torch.cat([x.new_ones(len(steps)), x.new_full((len(walks),), BETA)])
    values = x.new_zeros(len(codes)).index_add(0, place, weight)
    score = x.new_zeros(pairs.size(1))
    for row, one, other in shared(codes, n, pairs):
        score = score.index_add(0, row, values[one] * values[other] * x[codes[one] % n].square())
    return score


MODEL = NeoGNN

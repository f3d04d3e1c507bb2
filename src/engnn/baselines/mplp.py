r"""MPLP (Dong, Guo and Chawla, "Pure Message Passing Can Estimate Common Neighbor for Link Prediction", NeurIPS 2024).

Each node has a random signature, and signatures of different nodes are orthogonal on average, so that the inner product
of two sums of signatures estimates how many nodes the sums share:

.. math::

    v_i \in \bigl\{\pm F^{-1/2}\bigr\}^F, \qquad \eta^{(p)}_i = \sum_{k \in N_p(i)} v_k, \qquad
    \hat n_{pq}(i, j) = \langle \eta^{(p)}_i, \eta^{(q)}_j \rangle \approx |N_p(i) \cap N_q(j)|

where :math:`N_p(i)` are the nodes at distance p of i, for the distances 1 and 2. A link's answer is an MLP of these
estimates, of the ends' degrees, and of the product of their embeddings by GCN. F is `noise_channels`; an estimate's
variance is that of `variance` over F.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor
from torch_geometric import nn as pyg

from engnn.baselines._egonets import crowded, matrix, near
from engnn.baselines._model import Given, NoisyBaseline, mlp

HOPS = 2
AT_ONCE = 1 << 22  # numbers of signatures that are multiplied together
COUNTS = HOPS * (HOPS + 1) // 2 + HOPS  # n₁₁, n₁₂ + n₂₁, n₂₂, and the sums of the ends' |N₁| and |N₂|


class MPLP(NoisyBaseline):
    """Estimates of common neighbours, beside GCN of `num_layers`.

    >>> model = MPLP(3, 16, 1, 2, level="link", noise_channels=64)
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=torch.tensor([[0], [2]])).shape
    torch.Size([1, 1])
    """

    kind = "rademacher"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        level: str,
        noise_channels: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level, levels=("link",))
        self.noise_channels = noise_channels
        self.gnn = pyg.GCN(self.in_channels, hidden_channels, num_layers, self.width, dropout=dropout)
        self.head = mlp(hidden_channels + COUNTS, hidden_channels, out_channels)

    def encode(self, given: Given) -> Tensor:
        h: Tensor = self.gnn(given.x, given.edge_index)
        return h

    def answers(self, h: Tensor, given: Given) -> Tensor:
        assert isinstance(given.targets, Tensor)
        assert given.noise is not None
        i, j = given.targets
        counts = estimates(given.edge_index, given.noise / sqrt(given.noise.size(1)), given.targets)
        out: Tensor = self.head(torch.cat([h[i] * h[j], counts.clamp(min=0).log1p()], dim=1))
        return out


@torch.no_grad()
def estimates(edge_index: Tensor, signature: Tensor, pairs: Tensor) -> Tensor:
    r"""For each pair: :math:`\hat n_{11}`, :math:`\hat n_{12} + \hat n_{21}`, :math:`\hat n_{22}`, and the ends' sizes.

    The sizes are those of both ends' neighbourhoods at distances 1 and 2, added up.
    """
    at = spheres(edge_index, len(signature), signature)
    sums = [one @ signature for one in at]
    sizes = [(one @ signature.new_ones(len(signature), 1))[:, 0] for one in at]
    rows = []
    for i, j in torch.split(pairs, max(1, AT_ONCE // signature.size(1)), dim=1):
        columns = []
        for p in range(HOPS):
            for q in range(p, HOPS):
                one = (sums[p][i] * sums[q][j]).sum(1)
                columns.append(one if p == q else one + (sums[q][i] * sums[p][j]).sum(1))
        rows.append(torch.stack([*columns, *(size[i] + size[j] for size in sizes)], dim=1))
    return torch.cat(rows)


def spheres(edge_index: Tensor, n: int, like: Tensor) -> list[Tensor]:
    """Which nodes are at the distances 1, 2 of each, as matrices `[n, n]` that are sparse where the graph is.

    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> [one.to_dense()[0].tolist() for one in spheres(path, 3, torch.ones(1))]
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if crowded(edge_index, n):
        one = matrix(edge_index, n, like).clamp(max=1).fill_diagonal_(0)
        two = (one @ one > 0) & (one == 0)
        return [one, two.fill_diagonal_(False).to(one.dtype)]
    pairs, far = near(edge_index, n, HOPS)
    return [
        torch.sparse_coo_tensor(at, like.new_ones(at.size(1)), (n, n), check_invariants=False)
        for at in (pairs[:, far == distance] for distance in range(1, HOPS + 1))
    ]


def variance(one: int, other: int, common: int) -> float:
    """F times the variance of the estimate of how many members two sets of these sizes have in common.

    >>> variance(3, 4, 0), variance(1, 1, 1)
    (12, 0)
    """
    return one * other + common**2 - 2 * common


MODEL = MPLP

r"""BUDDY (Chamberlain et al., "Graph Neural Networks for Link Prediction with Subgraph Sketching", ICLR 2023).

Each node carries sketches of its balls :math:`B_1` and :math:`B_2` (all nodes within one and two steps): a MinHash, the
least of P random numbers over the ball, and a HyperLogLog, the greatest of some random ranks in each of 256 registers.
For two balls they estimate

.. math::

    \hat J = \frac{1}{P} \sum_{k} [\min_B h_k = \min_{B'} h_k] \approx \frac{|B \cap B'|}{|B \cup B'|}, \qquad
    |B \cap B'| \approx \hat J \cdot \widehat{|B \cup B'|}

and from these how many nodes are at distances p from one end and q from the other. A link's answer is an MLP of those
counts and of the product of the ends' features, which are averaged over zero, one and two steps beforehand. P is
`noise_channels`. Edge features are not used.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from engnn.baselines._model import Given, NoisyBaseline, mlp
from engnn.baselines._product import product

HOPS = 2
REGISTERS = 256
COUNTS = HOPS * HOPS + 2 * HOPS
AT_ONCE = 1 << 22  # numbers that are on their way along edges


class BUDDY(NoisyBaseline):
    """Sketches of neighbourhoods, and features averaged over up to two steps.

    >>> model = BUDDY(3, 16, 1, level="link", noise_channels=64)
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=torch.tensor([[0], [2]])).shape
    torch.Size([1, 1])
    """

    kind = "uniform"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        level: str,
        noise_channels: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, level=level, levels=("link",))
        self.noise_channels = noise_channels + 2  # two for the HyperLogLog
        self.lins = nn.ModuleList(nn.Linear(self.in_channels, hidden_channels, bias=not hop) for hop in range(HOPS + 1))
        self.dropout = nn.Dropout(dropout)
        self.head = mlp(hidden_channels + COUNTS, hidden_channels, out_channels, dropout=dropout)

    def encode(self, given: Given) -> Tensor:
        """One Linear of x, Âx and Â²x side by side: each part is made narrow first, and then averaged."""
        edge_index, weight = gcn_norm(given.edge_index, num_nodes=len(given.x), dtype=given.x.dtype)
        parts = [lin(self.dropout(given.x)) for lin in self.lins]
        h: Tensor = parts.pop()
        while parts:
            h = parts.pop() + product(edge_index, weight, h)
        return h.relu()

    def answers(self, h: Tensor, given: Given) -> Tensor:
        assert isinstance(given.targets, Tensor)
        assert given.noise is not None
        i, j = given.targets
        counts = distances(sketches(given.edge_index, given.noise), given.targets)
        out: Tensor = self.head(torch.cat([h[i] * h[j], counts.clamp(min=0).log1p()], dim=1))
        return out


class Sketch(NamedTuple):
    """Of a set for each node."""

    least: Tensor  # [n, P]
    ranks: Tensor  # [n, REGISTERS]


@torch.no_grad()
def sketches(edge_index: Tensor, noise: Tensor) -> list[Sketch]:
    """The sketches of all balls of radius 1, 2, …; the noise is uniform between −√3 and √3."""
    n = len(noise)
    uniform = ((noise / sqrt(3) + 1) / 2).clamp(1e-9, 1 - 1e-9)
    register = (uniform[:, -2] * REGISTERS).long()
    ranks = noise.new_zeros(n, REGISTERS)
    ranks[torch.arange(n, device=noise.device), register] = (-uniform[:, -1].log2()).floor() + 1
    now, found = Sketch(uniform[:, :-2], ranks), []
    for _ in range(HOPS):
        now = Sketch(_gathered(now.least, edge_index, "amin"), _gathered(now.ranks, edge_index, "amax"))
        found.append(now)
    return found


def _gathered(values: Tensor, edge_index: Tensor, how: str) -> Tensor:
    """The least or greatest of what is at each node and comes in over its edges, some columns at a time."""
    source, target = edge_index
    parts = [
        some.scatter_reduce(0, target[:, None].expand(-1, some.size(1)), some[source], how)
        for some in torch.split(values, max(1, AT_ONCE // max(1, len(source))), dim=1)
    ]
    return torch.cat(parts, dim=1)


def cardinality(ranks: Tensor) -> Tensor:
    """How many members a set has, by its HyperLogLog (Flajolet et al. 2007); by empty registers where it is small.

    >>> cardinality(torch.zeros(1, REGISTERS))
    tensor([0.])
    """
    raw = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS**2 / torch.exp2(-ranks).sum(-1)
    empty = (ranks == 0).sum(-1).to(ranks.dtype)
    small = REGISTERS * (REGISTERS / empty.clamp(min=1)).log()
    return torch.where((raw <= 2.5 * REGISTERS) & (empty > 0), small, raw)


def intersection(one: Sketch, other: Sketch, i: Tensor, j: Tensor) -> Tensor:
    """How many members the set of each i in the one and of each j in the other have in common."""
    same = (one.least[i] == other.least[j]).to(one.least.dtype).mean(1)
    return same * cardinality(torch.maximum(one.ranks[i], other.ranks[j]))


@torch.no_grad()
def distances(balls: list[Sketch], pairs: Tensor) -> Tensor:
    """For each pair: at distances p of one end and q of the other, by p and q; then at p of one and far of the other.

    Distance 1 is that of the ball of radius 1, the node itself with its neighbours. All is estimated, so that a
    number may be below 0.
    """
    i, j = pairs
    within = [[intersection(one, other, i, j) for other in balls] for one in balls]

    def at(p: int, q: int) -> Tensor:
        out = within[p][q]
        out = out - within[p - 1][q] if p else out
        out = out - within[p][q - 1] if q else out
        return out + within[p - 1][q - 1] if p and q else out

    exact = [[at(p, q) for q in range(HOPS)] for p in range(HOPS)]
    sizes = [cardinality(ball.ranks) for ball in balls]
    columns = [exact[0][0], exact[0][1] + exact[1][0], (exact[0][1] - exact[1][0]).abs(), exact[1][1]]
    for p in range(HOPS):
        shell = sizes[p] - sizes[p - 1] if p else sizes[p]
        ends = torch.stack([shell[i] - sum(exact[p]), shell[j] - sum(row[p] for row in exact)])
        columns += [ends.amin(0), ends.amax(0)]  # in no order, since a pair has none
    return torch.stack(columns, dim=1)


MODEL = BUDDY

"""Scores of pairs by their common neighbours, exactly: one entry of a product of sparse matrices for each pair.

For a pair (i, j) and weights w of the nodes it is entry (i, j) of A diag(w) A, which sums w over N(i) ∩ N(j).
Only the entries that are asked for are computed: the neighbours of the end that has fewer are looked up among the
edges of the other, so many at once that memory stays bounded, whatever the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from engnn.baselines._model import Targets, fits
from engnn.sets import count_nodes

AT_ONCE = 1 << 22  # neighbours that are looked up together


class Heuristic(nn.Module):
    r"""A score of pairs that nothing is learnt for, but how probable a link is at a given score.

    The answer's logit is :math:`a \log(1 + s) + b` of the score s with learnt :math:`a > 0` and b, so that pairs are
    ranked as by s itself, ties included. `weight` maps the degrees of nodes to what each counts as a common neighbour.
    """

    def __init__(self, name: str, weight: Callable[[Tensor], Tensor], level: str) -> None:
        super().__init__()
        fits(name, level, ("link",), " (it is a score of pairs of nodes)")
        self.weight = weight
        self.slope = nn.Parameter(torch.zeros(1))
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        *,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        targets: Targets = None,
        noise: Tensor | int | None = None,
        num_nodes: int | None = None,
        size: int | None = None,
    ) -> Tensor:
        """The logits `[T, 1]` of pairs `[2, T]`; see `engnn.nn.model.ENGNN.forward`. Features are not looked at."""
        assert isinstance(targets, Tensor)
        n = count_nodes(edge_index, num_nodes, x)
        score = common(edge_index, n, targets, self.weight)
        out: Tensor = (softplus(self.slope) * score.log1p().to(self.slope.dtype) + self.offset)[:, None]
        return out


@torch.no_grad()
def common(edge_index: Tensor, n: int, pairs: Tensor, weight: Callable[[Tensor], Tensor]) -> Tensor:
    """For each pair the sum of the weights of its common neighbours, in double precision.

    Edges count once, in whichever direction they are given, and edges from a node to itself not at all.

    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> common(square, 4, torch.tensor([[0, 0], [2, 1]]), torch.ones_like).tolist()
    [2.0, 0.0]
    """
    both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    codes = torch.unique((both[0] * n + both[1])[both[0] != both[1]])
    weights = weight(torch.bincount(codes // n, minlength=n).double())
    score = torch.zeros(pairs.size(1), dtype=torch.double, device=pairs.device)
    for row, one, _ in shared(codes, n, pairs):
        score.index_add_(0, row, weights[codes[one] % n])
    return score


def shared(codes: Tensor, n: int, pairs: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The columns in which both rows of a pair have an entry, in a sparse matrix.

    Its entries are sorted numbers, row * n + column. In parts: the place of the pair, and those of the two entries.

    >>> [(row, one, other)] = shared(torch.tensor([1, 4, 7]), 3, torch.tensor([[0, 0], [1, 2]]))
    >>> row, one, other
    (tensor([0, 1]), tensor([0, 0]), tensor([1, 2]))
    """
    columns = codes % n
    counts = torch.bincount(codes // n, minlength=n)
    first = counts.cumsum(0) - counts
    swap = counts[pairs[0]] > counts[pairs[1]]
    few, many = torch.where(swap, pairs[1], pairs[0]), torch.where(swap, pairs[0], pairs[1])
    ends = counts[few].cumsum(0)
    begun = 0
    while begun < len(few):
        done = int(ends[begun - 1]) if begun else 0
        stop = max(begun + 1, int(torch.searchsorted(ends, done + AT_ONCE, right=True)))
        count = counts[few[begun:stop]]
        row = torch.repeat_interleave(torch.arange(begun, stop, device=pairs.device), count)
        step = torch.arange(len(row), device=pairs.device) - (count.cumsum(0) - count).repeat_interleave(count)
        one = first[few[row]] + step
        wanted = many[row] * n + columns[one]
        other = torch.searchsorted(codes, wanted).clamp(max=max(0, len(codes) - 1))
        found = codes[other] == wanted
        yield row[found], one[found], other[found]
        begun = stop

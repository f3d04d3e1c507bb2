"""Parts of a concatenation that is never built: what the Linears and MLPs of the layers are given.

A part is a tensor, or stands for one that is not built either: `Shared` for what a set's elements have in common, whose
product is made once a set; `Pending` for an MLP's output, whose product and last Linear are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engnn import kernels
from engnn.sets import Shared


class Pending(NamedTuple):
    """What an MLP makes, not yet made: the rows of its first Linear, and its last one."""

    hidden: kernels.Rows
    lin: nn.Linear

    def made(self) -> Tensor:
        return kernels.linear(self.hidden, self.lin.weight, self.lin.bias)


Part: TypeAlias = Tensor | Shared | Pending
Affine: TypeAlias = tuple[Tensor, Tensor | None]  # a weight and a bias


def rows(parts: Sequence[Part], weight: Tensor, bias: Tensor | None = None, own: Tensor | None = None) -> kernels.Rows:
    """W (a ‖ b ‖ …) + bias + own, for `engnn.kernels` to make.

    >>> from engnn.sets import Sets
    >>> mean = Shared(torch.ones(1, 2), Sets.given(None, None, torch.ones(5, 1)))
    >>> kernels.product(rows([torch.ones(5, 3), mean], torch.ones(7, 5))).unique()
    tensor([5.])
    """
    table = entry = None
    values: list[Tensor] = []
    blocks: list[Tensor] = []
    for part, block in zip(parts, torch.split(weight, [_width(part) for part in parts], dim=1), strict=True):
        if isinstance(part, Shared):
            table, entry = F.linear(part.values, block), None if part.sets.num == 1 else part.sets.owner
        elif isinstance(part, Pending):
            values.append(F.relu(kernels.product(part.hidden)))
            blocks.append(block @ part.lin.weight)
            bias = block @ part.lin.bias if bias is None else bias + block @ part.lin.bias
        else:
            values.append(part)
            blocks.append(block)
    columns = [0, *accumulate(block.size(1) for block in blocks[:-1])]
    whole = all(isinstance(part, Tensor) for part in parts)
    return kernels.Rows(values, columns, weight if whole else torch.cat(blocks, 1), bias, own, table, entry)


def together(linears: Sequence[Affine], parts: Sequence[Part], own: Tensor | None = None) -> Tensor:
    """Several Linears of the same parts in one product, `own` added: their outputs side by side.

    >>> together([(torch.ones(2, 3), None), (torch.zeros(1, 3), torch.ones(1))], [torch.ones(4, 3)])[0]
    tensor([3., 3., 1.])
    """
    weights, biases = zip(*linears, strict=True)
    filled = [w.new_zeros(len(w)) if bias is None else bias for w, bias in linears]
    bias = torch.cat(filled) if any(bias is not None for bias in biases) else None
    blocks = torch.split(torch.cat(weights), [_width(part) for part in parts], dim=1)
    pending = [(part, block) for part, block in zip(parts, blocks, strict=True) if isinstance(part, Pending)]
    others = [(part, block) for part, block in zip(parts, blocks, strict=True) if not isinstance(part, Pending)]
    out = own
    if others:
        rest, blocks = zip(*others, strict=True)
        out, bias = kernels.product(rows(rest, torch.cat(blocks, 1), bias, own)), None
    for part, block in pending:  # the hidden rows of an MLP are made again going back, rather than kept
        last = block @ part.lin.bias if bias is None else bias + block @ part.lin.bias
        made, bias = kernels.linear(part.hidden, block @ part.lin.weight, last), None
        out = made if out is None else out + made
    assert out is not None
    return out


def apart(values: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The first columns and the others, each by itself, so that keeping one does not keep both.

    >>> [part.shape[1] for part in apart(torch.ones(4, 5), 2)]
    [2, 3]
    """
    first, others = torch.tensor_split(values, [width], dim=-1)
    return first.contiguous(), others.contiguous()


def _width(part: Part) -> int:
    if isinstance(part, Pending):
        return part.lin.out_features
    return (part.values if isinstance(part, Shared) else part).size(-1)

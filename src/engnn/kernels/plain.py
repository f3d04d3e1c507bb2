"""The formulas of the kernels in plain torch, rows taken a few at a time, so that what is inside stays small.

They are what runs where no kernel can, and are written so that each line can be read beside `rows.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 1 << 19  # hidden values at a time: about what a core's cache holds


class Ending(IntEnum):
    """What becomes of the hidden rows."""

    PRODUCT = 0  # themselves, before the activation
    LINEAR = 1  # their second Linear
    CHANNELS = 2  # their sum over channels
    SETS = 3  # their sum over the rows of each set


def hidden(
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    table: Tensor | None,
    index: Tensor | None,
) -> Tensor:
    """Σ_p W_p part_p + bias + table[index]: `[n, C, H]`, or `[n, H]` where nothing has channels."""
    wide = max(part.dim() for part in (*parts, *([] if table is None else [table])))
    out: Tensor | None = None
    for part, column in zip(parts, columns, strict=True):
        product = F.linear(part, weight[:, column : column + part.size(-1)], bias if out is None else None)
        product = product.unsqueeze(1) if part.dim() < wide else product
        out = product if out is None else out + product
    assert out is not None
    if table is not None:
        rows = table if index is None else table.index_select(0, index)
        out = out + (rows.unsqueeze(1) if table.dim() < wide else rows)
    return out


def end(
    inner: Tensor,
    ending: int,
    weight2: Tensor | None = None,
    bias2: Tensor | None = None,
    owner: Tensor | None = None,
    num: int = 0,
) -> Tensor:
    """The activation and what comes after it."""
    if ending == Ending.PRODUCT:
        return inner
    inner = inner.relu()
    if ending == Ending.LINEAR:
        assert weight2 is not None
        return F.linear(inner, weight2, bias2)
    if ending == Ending.CHANNELS:
        return inner.sum(1) if inner.dim() == 3 else inner
    if owner is None:
        return inner.sum(0, keepdim=True)
    return inner.new_zeros(num, *inner.shape[1:]).index_add_(0, owner, inner)


def forward(
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    table: Tensor | None,
    index: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    num: int,
    ending: int,
) -> Tensor:
    pieces = []
    total: Tensor | None = None
    for rows in _chunks(parts, table, weight.size(0)):
        inner = hidden([part[rows] for part in parts], columns, weight, bias, table, _some(index, rows))
        piece = end(inner, ending, weight2, bias2, _some(owner, rows), num)
        if ending != Ending.SETS:
            pieces.append(piece)
        else:
            total = piece if total is None else total.add_(piece)
    return total if total is not None else pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def backward(
    grad: Tensor,
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    table: Tensor | None,
    index: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    ending: int,
    needs: Sequence[bool],
) -> list[Tensor]:
    """The gradients (those of `needs`) of weight, bias, table, weight2, bias2 and the parts."""
    arguments = (weight, bias, table, weight2, bias2, *parts)
    grads = [
        torch.zeros_like(t) if t is not None and n else grad.new_empty(0) for t, n in zip(arguments, needs, strict=True)
    ]
    of_weight, of_bias, of_table, of_weight2, of_bias2, *of_parts = grads
    for rows in _chunks(parts, table, weight.size(0)):
        some = [part[rows] for part in parts]
        inner = hidden(some, columns, weight, bias, table, _some(index, rows))
        g = grad[rows] if ending != Ending.SETS else grad if owner is None else grad.index_select(0, owner[rows])
        if ending == Ending.LINEAR:
            assert weight2 is not None
            flat = g.flatten(0, -2)
            if needs[3]:
                of_weight2 += flat.t() @ inner.relu().flatten(0, -2)
            if needs[4]:
                of_bias2 += flat.sum(0)
            g = g @ weight2
        elif ending == Ending.CHANNELS and inner.dim() == 3:
            g = g.unsqueeze(1)
        if ending != Ending.PRODUCT:
            g = torch.where(inner > 0, g, 0)
        g = g.contiguous()
        if needs[1]:
            of_bias += g.flatten(0, -2).sum(0)
        narrow = g.sum(1) if g.dim() == 3 else g
        if table is not None and needs[2]:
            inside = narrow if table.dim() == 2 else g
            if index is None:
                of_table += inside.sum(0, keepdim=True)
            else:
                of_table.index_add_(0, index[rows], inside)
        for part, column, of_part, need in zip(some, columns, of_parts, needs[5:], strict=True):
            inside = narrow if part.dim() == 2 else g
            block = slice(column, column + part.size(-1))
            if needs[0]:
                of_weight[:, block] += inside.flatten(0, -2).t() @ part.flatten(0, -2)
            if need:
                torch.matmul(inside, weight[:, block], out=of_part[rows])
    return grads


def neighbour_sum(
    values: Tensor, pointer: Tensor, source: Tensor, inner: Tensor | None, outer: Tensor | None
) -> Tensor:
    """outer[i] · Σ_{pointer[i] ≤ e < pointer[i+1]} inner[source[e]] · values[source[e]], with no row for an edge."""
    flat = values.reshape(values.size(0), values[:1].numel())
    if flat.numel() == 0 or source.numel() == 0:
        return values.new_zeros(pointer.numel() - 1, *values.shape[1:])
    weights = None if inner is None else inner.index_select(0, source)
    out = F.embedding_bag(source, flat, pointer, mode="sum", include_last_offset=True, per_sample_weights=weights)
    out = out if outer is None else out.mul_(outer[:, None])
    return out.view(-1, *values.shape[1:])


def _chunks(parts: Sequence[Tensor], table: Tensor | None, width: int) -> Iterator[slice]:
    n = parts[0].size(0)
    channels = max([1, *(t.size(1) for t in (*parts, table) if t is not None and t.dim() == 3)])
    step = max(1, CHUNK // max(1, channels * width))
    return (slice(start, start + step) for start in range(0, max(n, 1), step))


def _some(index: Tensor | None, rows: slice) -> Tensor | None:
    return None if index is None else index[rows]

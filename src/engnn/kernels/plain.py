"""The formulas of the kernels in plain torch, rows taken a few at a time, so that what is inside stays small.

They are what runs where no kernel can, and are written so that each line can be read beside `rows.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 1 << 19  # hidden values at a time: about what a core's cache holds; a GPU is given more to do at once
GPU = 64


class Ending(IntEnum):
    """What becomes of the hidden rows."""

    PRODUCT = 0  # themselves, before the activation
    LINEAR = 1  # their second Linear
    CHANNELS = 2  # their sum over channels
    SETS = 3  # their sum over the rows of each set


def shape(parts: Sequence[Tensor], weight: Tensor, weight2: Tensor | None, num: int, ending: int) -> tuple[int, ...]:
    """Of what `forward` returns."""
    n, *channels = parts[0].shape[:-1]
    if ending == Ending.LINEAR:
        assert weight2 is not None
        return n, *channels, weight2.size(0)
    if ending == Ending.SETS:
        return num, *channels, weight.size(0)
    return n, *(channels if ending == Ending.PRODUCT else ()), weight.size(0)


def layer_shapes(
    x: Tensor, z: Tensor, sizes: Tensor, weights: Sequence[Tensor], edges: bool
) -> tuple[tuple[int, ...], ...]:
    """Of x², Z², and what is kept for the way back: of each graph ψ's sums, of each node hidden values."""
    out = [weight.size(0) for weight in weights]
    psi, phi, varphi, varphi1, (g, _, g2, _, h, _, h2) = out[0], out[6], out[12], out[14], out[18 + edges : -2]
    n, channels, _ = z.shape
    kept = sizes.size(0) * channels * psi + n * (phi + 2 * varphi + g + h + varphi1)
    return (n, g2), (n, channels, h2), (kept,)


def exact(dtype: torch.dtype) -> torch.dtype:
    """What a compiled kernel computes in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def hidden(
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
) -> Tensor:
    """Σ_p W_p part_p + bias + own + table[entry]: `[n, C, H]`, or `[n, H]` where nothing has channels."""
    shape = (*parts[0].shape[:-1], weight.size(0))
    out: Tensor | None = None
    if table is not None:
        out = table if bias is None else table + bias
        out = out.expand(shape[0], *out.shape[1:]) if entry is None else out.index_select(0, entry)
        out = (out.unsqueeze(1) if out.dim() < len(shape) else out).expand(shape).flatten(0, -2)
    for part, column in zip(parts, columns, strict=True):
        turned, part = weight[:, column : column + part.size(-1)].t(), part.flatten(0, -2)
        if out is not None:
            out = torch.addmm(out, part, turned)
        else:
            out = part @ turned if bias is None else torch.addmm(bias, part, turned)
    assert out is not None
    out = out.view(shape)
    if own is None:
        return out
    own = F.pad(own, (0, shape[-1] - own.size(-1)))
    return out + (own.unsqueeze(1) if len(shape) == 3 else own)


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
    if ending == Ending.LINEAR:
        assert weight2 is not None
        active, past = torch.split(inner, [weight2.size(1), inner.size(-1) - weight2.size(1)], dim=-1)
        out = F.linear(active.relu(), weight2, bias2)
        return out + past if past.size(-1) else out
    inner = inner.relu()
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
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    num: int,
    ending: int,
) -> Tensor:
    pieces = []
    total: Tensor | None = None
    for rows in _chunks(parts, weight.size(0)):
        some = [part[rows] for part in parts]
        inner = hidden(some, columns, weight, bias, _some(own, rows), table, _some(entry, rows))
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
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    ending: int,
    needs: Sequence[bool],
) -> list[Tensor]:
    """The gradients (those of `needs`) of weight, bias, table, weight2, bias2 and the parts."""
    arguments = (weight, bias, own, table, weight2, bias2, *parts)
    grads = [
        torch.zeros_like(t) if t is not None and n else grad.new_empty(0) for t, n in zip(arguments, needs, strict=True)
    ]
    of_weight, of_bias, of_own, of_table, of_weight2, of_bias2, *of_parts = grads
    for rows in _chunks(parts, weight.size(0)):
        some = [part[rows] for part in parts]
        inner = hidden(some, columns, weight, bias, _some(own, rows), table, _some(entry, rows))
        g = grad[rows] if ending != Ending.SETS else grad if owner is None else grad.index_select(0, owner[rows])
        if ending == Ending.LINEAR:
            assert weight2 is not None
            active = inner[..., : weight2.size(1)]
            flat = g.flatten(0, -2)
            if needs[4]:
                of_weight2 += flat.t() @ active.relu().flatten(0, -2)
            if needs[5]:
                of_bias2 += flat.sum(0)
            past = g[..., : inner.size(-1) - active.size(-1)]
            g = torch.cat([torch.where(active > 0, g @ weight2, 0), past], -1)
        elif ending != Ending.PRODUCT:
            g = torch.where(inner > 0, g.unsqueeze(1) if g.dim() < inner.dim() else g, 0)
        narrow = g.sum(1) if g.dim() == 3 else g
        if needs[1]:
            of_bias += narrow.sum(0)
        if own is not None and needs[2]:
            of_own[rows] = narrow[:, : own.size(-1)]
        if table is not None and needs[3]:
            inside = narrow if table.dim() == 2 else g
            if entry is None:
                of_table += inside.sum(0, keepdim=True)
            else:
                of_table.index_add_(0, entry[rows], inside)
        flat = g.flatten(0, -2)
        for part, column, of_part, need in zip(some, columns, of_parts, needs[6:], strict=True):
            block = slice(column, column + part.size(-1))
            if needs[0]:
                of_weight[:, block] += flat.t() @ part.flatten(0, -2)
            if need:
                of_part[rows] = (flat @ weight[:, block]).view(part.shape)
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


def _chunks(parts: Sequence[Tensor], width: int) -> Iterator[slice]:
    n = parts[0].size(0)
    some = CHUNK if parts[0].device.type == "cpu" else GPU * CHUNK
    step = max(1, some // max(1, parts[0].shape[1:-1].numel() * width))
    return (slice(start, start + step) for start in range(0, max(n, 1), step))


def _some(tensor: Tensor | None, rows: slice) -> Tensor | None:
    return None if tensor is None else tensor[rows]

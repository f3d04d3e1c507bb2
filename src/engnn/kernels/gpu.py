"""The kernels of rows with channels in Triton: blocks of rows, whose hidden values stay in registers, both ways.

Rows without channels are large products and little else, which the vendor's library does best: they go to `plain`. Sums
over channels, sets and tables are atomic additions in single precision, whose order, and so whose last bits, may vary:
where torch is to be deterministic, `plain` computes them too.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from engnn.kernels import plain
from engnn.kernels.plain import Ending

ROWS = 64  # of a block
PROGRAMS = 1024  # each takes block after block, so that sums over all rows are added to memory but once a program
WIDEST = 64  # hidden, in and out: what fits into registers
LINEAR, CHANNELS, SETS = (tl.constexpr(int(ending)) for ending in (Ending.LINEAR, Ending.CHANNELS, Ending.SETS))
PRODUCT = tl.constexpr(int(Ending.PRODUCT))


@triton.jit
def _dot(a, b, EXACT: tl.constexpr):
    """A product of two tiles, in single precision throughout or, where EXACT, in double."""
    if EXACT:
        return tl.sum(a[:, :, None] * b[None, :, :], 1)
    return tl.dot(a, b, input_precision="ieee")


@triton.jit
def _tile(at, rows, columns, stride, inside, within, EXACT: tl.constexpr):
    """at[rows, columns], 0 outside."""
    values = tl.load(at + rows[:, None] * stride + columns[None, :], inside[:, None] & within[None, :], 0.0)
    return values.to(tl.float64 if EXACT else tl.float32)


@triton.jit
def _hidden(
    first, second, weight, bias, own, table, entry, row, node, channel, inside,
    C: tl.constexpr, H: tl.constexpr, WIDTH: tl.constexpr, COLUMN0: tl.constexpr, COLUMN1: tl.constexpr,
    K0: tl.constexpr, K1: tl.constexpr, OWN: tl.constexpr, TABLE: tl.constexpr, TABLE_WIDE: tl.constexpr,
    ENTRY: tl.constexpr, BIAS: tl.constexpr, BH: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    h, k = tl.arange(0, BH), tl.arange(0, BK)
    acc = _dot(
        _tile(first, row, k, K0, inside, k < K0, EXACT),
        tl.trans(_tile(weight + COLUMN0, h, k, WIDTH, h < H, k < K0, EXACT)),
        EXACT,
    )
    if K1 > 0:
        acc += _dot(
            _tile(second, row, k, K1, inside, k < K1, EXACT),
            tl.trans(_tile(weight + COLUMN1, h, k, WIDTH, h < H, k < K1, EXACT)),
            EXACT,
        )
    if BIAS:
        acc += tl.load(bias + h, h < H, 0.0)[None, :].to(acc.dtype)
    if OWN > 0:
        acc += _tile(own, node, h, OWN, inside, h < OWN, EXACT)
    if TABLE:
        at = node * 0
        if ENTRY:
            at = tl.load(entry + node, inside, 0)
        if TABLE_WIDE:
            at = at * C + channel
        acc += _tile(table, at, h, H, inside, h < H, EXACT)
    return acc


@triton.jit
def _forward(
    first, second, weight, bias, own, table, entry, weight2, bias2, owner, result, count,
    ENDING: tl.constexpr, A: tl.constexpr, OUT: tl.constexpr, BO: tl.constexpr, OWNER: tl.constexpr,
    BIAS2: tl.constexpr, C: tl.constexpr, H: tl.constexpr, WIDTH: tl.constexpr,
    COLUMN0: tl.constexpr, COLUMN1: tl.constexpr,
    K0: tl.constexpr, K1: tl.constexpr, OWN: tl.constexpr, TABLE: tl.constexpr, TABLE_WIDE: tl.constexpr,
    ENTRY: tl.constexpr, BIAS: tl.constexpr, BH: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr,
    BR: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BR + tl.arange(0, BR)
    node, channel, inside = row // C, row % C, row < count
    h, o = tl.arange(0, BH), tl.arange(0, BO)
    acc = _hidden(
        first, second, weight, bias, own, table, entry, row, node, channel, inside,
        C, H, WIDTH, COLUMN0, COLUMN1, K0, K1, OWN, TABLE, TABLE_WIDE, ENTRY, BIAS, BH, BK, EXACT,
    )  # fmt: skip
    if ENDING == PRODUCT:
        tl.store(result + row[:, None] * H + h[None, :], acc, inside[:, None] & (h < H)[None, :])
    elif ENDING == LINEAR:
        out = _dot(tl.maximum(acc, 0.0), tl.trans(_tile(weight2, o, h, A, o < OUT, h < A, EXACT)), EXACT)
        if A < H:  # the columns past the activation, brought to the front by a product with ones and zeros
            past = (h[:, None] == o[None, :] + A) & (o < OUT)[None, :]
            out += _dot(acc, past.to(acc.dtype), EXACT)
        if BIAS2:
            out += tl.load(bias2 + o, o < OUT, 0.0)[None, :].to(acc.dtype)
        tl.store(result + row[:, None] * OUT + o[None, :], out, inside[:, None] & (o < OUT)[None, :])
    else:
        to = node
        if ENDING == SETS:
            to = channel
            if OWNER:
                to = tl.load(owner + node, inside, 0) * C + channel
        acc = tl.maximum(acc, 0.0)
        tl.atomic_add(result + to[:, None] * H + h[None, :], acc, inside[:, None] & (h < H)[None, :], sem="relaxed")


@triton.jit
def _backward(
    first, second, weight, bias, own, table, entry, weight2, owner, grad,
    of_first, of_second, of_weight, of_bias, of_own, of_table, of_weight2, of_bias2, count, blocks,
    ENDING: tl.constexpr, A: tl.constexpr, OUT: tl.constexpr, OWNER: tl.constexpr, BO: tl.constexpr,
    OF_FIRST: tl.constexpr, OF_SECOND: tl.constexpr, OF_WEIGHT: tl.constexpr, OF_BIAS: tl.constexpr,
    OF_OWN: tl.constexpr, OF_TABLE: tl.constexpr, OF_WEIGHT2: tl.constexpr, OF_BIAS2: tl.constexpr,
    C: tl.constexpr, H: tl.constexpr, WIDTH: tl.constexpr, COLUMN0: tl.constexpr, COLUMN1: tl.constexpr,
    K0: tl.constexpr, K1: tl.constexpr, OWN: tl.constexpr, TABLE: tl.constexpr, TABLE_WIDE: tl.constexpr,
    ENTRY: tl.constexpr, BIAS: tl.constexpr, BH: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr,
    BR: tl.constexpr,
):  # fmt: skip
    h, k, o = tl.arange(0, BH), tl.arange(0, BK), tl.arange(0, BO)
    dtype = tl.float64 if EXACT else tl.float32
    sum_first = tl.zeros((BH, BK), dtype)
    sum_second = tl.zeros((BH, BK), dtype)
    sum_bias = tl.zeros((BH,), dtype)
    sum_weight2 = tl.zeros((BO, BH), dtype)
    sum_bias2 = tl.zeros((BO,), dtype)
    block = tl.program_id(0).to(tl.int64)
    while block < blocks:  # a range of tensors is beyond Triton's interpreter
        row = block * BR + tl.arange(0, BR)
        node, channel, inside = row // C, row % C, row < count
        some = inside[:, None] & (h < H)[None, :]
        acc = _hidden(
            first, second, weight, bias, own, table, entry, row, node, channel, inside,
            C, H, WIDTH, COLUMN0, COLUMN1, K0, K1, OWN, TABLE, TABLE_WIDE, ENTRY, BIAS, BH, BK, EXACT,
        )  # fmt: skip
        if ENDING == LINEAR:
            outer = _tile(grad, row, o, OUT, inside, o < OUT, EXACT)
            g = _dot(outer, _tile(weight2, o, h, A, o < OUT, h < A, EXACT), EXACT)
            active = (h < A)[None, :]
            g = tl.where(active & (acc > 0), g, 0.0)
            if A < H:
                g += _dot(outer, ((h[None, :] == o[:, None] + A) & (o < OUT)[:, None]).to(dtype), EXACT)
            if OF_WEIGHT2:
                hidden = tl.where(some & active, tl.maximum(acc, 0.0), 0.0)
                sum_weight2 += _dot(tl.trans(outer), hidden, EXACT)
            if OF_BIAS2:
                sum_bias2 += tl.sum(outer, 0)
        else:
            at = row
            if ENDING == CHANNELS:
                at = node
            if ENDING == SETS:
                at = channel
                if OWNER:
                    at = tl.load(owner + node, inside, 0) * C + channel
            g = _tile(grad, at, h, H, inside, h < H, EXACT)
            if ENDING != PRODUCT:
                g = tl.where(acc > 0, g, 0.0)
        if OF_BIAS:
            sum_bias += tl.sum(g, 0)
        if OF_OWN:
            within = inside[:, None] & (h < OWN)[None, :]
            tl.atomic_add(of_own + node[:, None] * OWN + h[None, :], g, within, sem="relaxed")
        if OF_TABLE:
            at = node * 0
            if ENTRY:
                at = tl.load(entry + node, inside, 0)
            if TABLE_WIDE:
                at = at * C + channel
            tl.atomic_add(of_table + at[:, None] * H + h[None, :], g, some, sem="relaxed")
        if OF_WEIGHT:
            sum_first += _dot(tl.trans(g), _tile(first, row, k, K0, inside, k < K0, EXACT), EXACT)
            if K1 > 0:
                sum_second += _dot(tl.trans(g), _tile(second, row, k, K1, inside, k < K1, EXACT), EXACT)
        if OF_FIRST:
            out = _dot(g, _tile(weight + COLUMN0, h, k, WIDTH, h < H, k < K0, EXACT), EXACT)
            tl.store(of_first + row[:, None] * K0 + k[None, :], out, inside[:, None] & (k < K0)[None, :])
        if OF_SECOND:
            out = _dot(g, _tile(weight + COLUMN1, h, k, WIDTH, h < H, k < K1, EXACT), EXACT)
            tl.store(of_second + row[:, None] * K1 + k[None, :], out, inside[:, None] & (k < K1)[None, :])
        block += tl.num_programs(0)
    if OF_WEIGHT:
        at = of_weight + h[:, None] * WIDTH + k[None, :]
        tl.atomic_add(at + COLUMN0, sum_first, (h < H)[:, None] & (k < K0)[None, :], sem="relaxed")
        if K1 > 0:
            tl.atomic_add(at + COLUMN1, sum_second, (h < H)[:, None] & (k < K1)[None, :], sem="relaxed")
    if OF_BIAS:
        tl.atomic_add(of_bias + h, sum_bias, h < H, sem="relaxed")
    if OF_WEIGHT2:
        at = of_weight2 + o[:, None] * A + h[None, :]
        tl.atomic_add(at, sum_weight2, (o < OUT)[:, None] & (h < A)[None, :], sem="relaxed")
    if OF_BIAS2:
        tl.atomic_add(of_bias2 + o, sum_bias2, o < OUT, sem="relaxed")


@triton.jit
def _neighbours(
    values, pointer, source, inner, outer, result,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    node, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float64 if EXACT else tl.float32)
    edge, last = tl.load(pointer + node), tl.load(pointer + node + 1)
    while edge < last:
        other = tl.load(source + edge)
        value = tl.load(values + other * SIZE + column, column < SIZE, 0.0).to(acc.dtype)
        if INNER:
            value *= tl.load(inner + other).to(acc.dtype)
        acc += value
        edge += 1
    if OUTER:
        acc *= tl.load(outer + node).to(acc.dtype)
    tl.store(result + node * SIZE + column, acc, column < SIZE)


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
    if not _fits(parts, weight, weight2):
        return plain.forward(parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, num, ending)
    n, channels, _ = parts[0].shape
    exact = plain.exact(weight.dtype)
    make = weight.new_zeros if ending in (Ending.CHANNELS, Ending.SETS) else weight.new_empty  # what is added to
    result = make(plain.shape(parts, weight, weight2, num, ending), dtype=exact)
    count = n * channels
    if count:
        inputs = _inputs(parts, weight, bias, own, table, entry)
        sizes = _sizes(parts, columns, weight, bias, own, table, entry, weight2, owner, ending)
        others = (_whole(one, weight) for one in (weight2, bias2, owner))
        _forward[(triton.cdiv(count, ROWS),)](*inputs, *others, result, count, BIAS2=bias2 is not None, **sizes)
    return result.to(weight.dtype)


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
    if not _fits(parts, weight, weight2):
        return plain.backward(
            grad, parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, ending, needs
        )
    exact = plain.exact(weight.dtype)
    tensors = (weight, bias, own, table, weight2, bias2, *parts)
    of = [
        torch.zeros(one.shape, dtype=exact, device=one.device) if one is not None and need else None
        for one, need in zip(tensors, needs, strict=True)
    ]
    count = parts[0].shape[:2].numel()
    if count:
        of_weight, of_bias, of_own, of_table, of_weight2, of_bias2, *of_parts = of
        of_second = of_parts[1] if len(of_parts) > 1 else None
        given = {
            "OF_FIRST": of_parts[0], "OF_SECOND": of_second, "OF_WEIGHT": of_weight, "OF_BIAS": of_bias,
            "OF_OWN": of_own, "OF_TABLE": of_table, "OF_WEIGHT2": of_weight2, "OF_BIAS2": of_bias2,
        }  # fmt: skip
        flags = {name: one is not None for name, one in given.items()}
        inputs = _inputs(parts, weight, bias, own, table, entry)
        sizes = _sizes(parts, columns, weight, bias, own, table, entry, weight2, owner, ending)
        blocks = triton.cdiv(count, ROWS)
        outputs = (weight if one is None else one for one in given.values())
        others = (_whole(one, weight) for one in (weight2, owner, grad))
        _backward[(min(blocks, PROGRAMS),)](*inputs, *others, *outputs, count, blocks, **flags, **sizes)
    return [weight.new_empty(0) if one is None else one.to(weight.dtype) for one in of]


def neighbour_sum(
    values: Tensor, pointer: Tensor, source: Tensor, inner: Tensor | None, outer: Tensor | None
) -> Tensor:
    n, size = pointer.numel() - 1, values.shape[1:].numel()
    result = values.new_empty(n, *values.shape[1:])
    if result.numel():
        block = min(1024, triton.next_power_of_2(size))
        given = (_whole(one, values) for one in (values, pointer, source, inner, outer))
        flags = {"INNER": inner is not None, "OUTER": outer is not None, "EXACT": values.dtype == torch.float64}
        _neighbours[(n, triton.cdiv(size, block))](*given, result, SIZE=size, BLOCK=block, **flags)
    return result


def _fits(parts: Sequence[Tensor], weight: Tensor, weight2: Tensor | None) -> bool:
    """Whether rows have channels, tiles of them fit, and sums may be in any order."""
    if torch.are_deterministic_algorithms_enabled():
        return False
    widths = [part.size(-1) for part in parts] + [*weight.shape[:1], *([] if weight2 is None else weight2.shape)]
    return parts[0].dim() == 3 and len(parts) <= 2 and min(widths) > 0 and max(widths) <= WIDEST


def _inputs(parts: Sequence[Tensor], weight: Tensor, *others: Tensor | None) -> list[Tensor]:
    return [_whole(one, weight) for one in (parts[0], parts[-1], weight, *others)]


def _sizes(
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
    weight2: Tensor | None,
    owner: Tensor | None,
    ending: int,
) -> dict[str, int | bool]:
    """All that a kernel is compiled for."""
    hidden, width = weight.shape
    out, active = (1, hidden) if weight2 is None else weight2.shape
    second = parts[1].size(-1) if len(parts) > 1 else 0
    return {
        "ENDING": int(ending), "A": active, "OUT": out, "OWNER": owner is not None, "BO": _tiled(out),
        "C": parts[0].size(1), "H": hidden, "WIDTH": width, "COLUMN0": columns[0], "COLUMN1": columns[-1],
        "K0": parts[0].size(-1), "K1": second, "OWN": 0 if own is None else own.size(1), "TABLE": table is not None,
        "TABLE_WIDE": table is not None and table.dim() == 3, "ENTRY": entry is not None, "BIAS": bias is not None,
        "BH": _tiled(hidden), "BK": _tiled(max(parts[0].size(-1), second)), "EXACT": weight.dtype == torch.float64,
        "BR": ROWS,
    }  # fmt: skip


def _tiled(size: int) -> int:
    tiled: int = triton.next_power_of_2(max(16, size))  # the least that a product of tiles takes
    return tiled


def _whole(tensor: Tensor | None, instead: Tensor) -> Tensor:
    """A kernel takes a pointer for what is not there too."""
    return (instead if tensor is None else tensor).contiguous()

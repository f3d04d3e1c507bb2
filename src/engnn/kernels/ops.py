"""The two operators that torch sees. Each has a fake (for torch.compile) and a gradient, and picks who computes it.

The gradient computes the hidden rows again from the inputs, so that only the inputs are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from engnn.kernels import choice
from engnn.kernels.plain import Ending


@torch.library.custom_op("engnn::rows", mutates_args=())
def rows(
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
    compute = choice.module(weight).forward
    out: Tensor = compute(parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, num, ending)
    return out


@rows.register_fake
def _(
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
    channels = parts[0].shape[1:-1]
    n, width = parts[0].size(0), weight.size(0)
    if ending == Ending.LINEAR:
        assert weight2 is not None
        return weight.new_empty(n, *channels, weight2.size(0))
    if ending == Ending.SETS:
        return weight.new_empty(num, *channels, width)
    return weight.new_empty(n, *(channels if ending == Ending.PRODUCT else ()), width)


@torch.library.custom_op("engnn::rows_backward", mutates_args=())
def rows_backward(
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
    compute = choice.module(weight).backward
    out: list[Tensor] = compute(
        grad, parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, ending, needs
    )
    return out


@rows_backward.register_fake
def _(
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
    arguments = (weight, bias, own, table, weight2, bias2, *parts)
    return [
        weight.new_empty(0) if t is None or not need else weight.new_empty(t.shape)
        for t, need in zip(arguments, needs, strict=True)
    ]


class _Rows(torch.autograd.Function):
    """The gradient of `rows`, cheaper to call than what `torch.library` would make for lists of tensors."""

    @staticmethod
    def forward(ctx: Any, columns: Sequence[int], num: int, ending: int, *tensors: Any) -> Tensor:
        ctx.columns, ctx.ending = columns, ending
        ctx.save_for_backward(*tensors)
        out: Tensor = rows(tensors[8:], columns, *tensors[:8], num, ending)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        others, parts = ctx.saved_tensors[:8], ctx.saved_tensors[8:]
        wanted = ctx.needs_input_grad[3:]
        needs = [*(wanted[k] for k in (0, 1, 2, 3, 5, 6)), *wanted[8:]]
        found = rows_backward(grads[0].contiguous(), parts, ctx.columns, *others, ctx.ending, needs)
        found = [of if need else None for of, need in zip(found, needs, strict=True)]
        return None, None, None, *found[:4], None, *found[4:6], None, *found[6:]


def differentiable(
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
    """`rows`, with its gradient."""
    tensors = (weight, bias, own, table, entry, weight2, bias2, owner, *parts)
    out: Tensor = _Rows.apply(columns, num, ending, *tensors)  # type: ignore[no-untyped-call]
    return out


@torch.library.custom_op("engnn::neighbour_sum", mutates_args=())
def neighbour_sum(
    values: Tensor,
    pointer: Tensor,
    source: Tensor,
    back_pointer: Tensor,
    back_source: Tensor,
    inner: Tensor | None,
    outer: Tensor | None,
) -> Tensor:
    out: Tensor = choice.module(values).neighbour_sum(values, pointer, source, inner, outer)
    return out


@neighbour_sum.register_fake
def _(
    values: Tensor,
    pointer: Tensor,
    source: Tensor,
    back_pointer: Tensor,
    back_source: Tensor,
    inner: Tensor | None,
    outer: Tensor | None,
) -> Tensor:
    return values.new_empty(pointer.size(0) - 1, *values.shape[1:])


def _keep_structure(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _transposed(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    pointer, source, back_pointer, back_source, inner, outer = ctx.saved_tensors
    of_values = neighbour_sum(grad.contiguous(), back_pointer, back_source, pointer, source, outer, inner)
    return of_values, None, None, None, None, None, None


neighbour_sum.register_autograd(_transposed, setup_context=_keep_structure)

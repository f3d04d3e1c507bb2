"""The operators that torch sees. Each has a fake (for torch.compile), and picks who computes it.

The gradient computes the hidden rows again from the inputs, so that only the inputs are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from engnn.kernels import choice, cpu, plain
from engnn.kernels.plain import Ending

LIBRARY = torch.library.Library("engnn", "DEF")  # type: ignore[no-untyped-call]


def _operator(name: str, function: Callable[..., Any], shape: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.library.custom_op`, but for what makes that cost more than small graphs do."""
    schema = torch.library.infer_schema(function, mutates_args=())
    LIBRARY.define(name + schema, tags=[torch.Tag.pt2_compliant_tag])  # type: ignore[no-untyped-call]
    LIBRARY.impl(name, function, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"engnn::{name}", shape, lib=LIBRARY)
    operator: Callable[..., Any] = getattr(torch.ops.engnn, name).default
    return operator


def _rows(
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


def _rows_shape(
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
    return weight.new_empty(plain.shape(parts, weight, weight2, num, ending))


def _rows_backward(
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


def _rows_backward_shape(
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


def _neighbour_sum(
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


def _neighbour_sum_shape(
    values: Tensor,
    pointer: Tensor,
    source: Tensor,
    back_pointer: Tensor,
    back_source: Tensor,
    inner: Tensor | None,
    outer: Tensor | None,
) -> Tensor:
    return values.new_empty(pointer.size(0) - 1, *values.shape[1:])


def _layer_shape(
    x: Tensor,
    z: Tensor,
    edge: Tensor | None,
    structure: Sequence[Tensor],
    weights: Sequence[Tensor],
    flags: Sequence[bool],
    numbers: Sequence[float],
) -> list[Tensor]:
    return [x.new_empty(shape) for shape in plain.layer_shapes(x, z, structure[-1], weights, edge is not None)]


def _layer_backward_shape(
    grad_x: Tensor,
    grad_z: Tensor,
    kept: Tensor,
    x: Tensor,
    z: Tensor,
    edge: Tensor | None,
    structure: Sequence[Tensor],
    weights: Sequence[Tensor],
    flags: Sequence[bool],
    numbers: Sequence[float],
) -> list[Tensor]:
    return [one.new_empty(one.shape) for one in (x, z, *weights)]


rows = _operator("rows", _rows, _rows_shape)
rows_backward = _operator("rows_backward", _rows_backward, _rows_backward_shape)
neighbour_sum = _operator("neighbour_sum", _neighbour_sum, _neighbour_sum_shape)
layer = _operator("layer", cpu.layer, _layer_shape)
layer_backward = _operator("layer_backward", cpu.layer_backward, _layer_backward_shape)


class Rows(torch.autograd.Function):
    """The gradient of `rows`, cheaper to call than what `torch.library` makes for lists of tensors."""

    @staticmethod
    def forward(ctx: Any, columns: Sequence[int], num: int, ending: int, *tensors: Any) -> Tensor:
        ctx.columns, ctx.ending = columns, ending
        kept = list(tensors)
        if ending == Ending.PRODUCT:  # what was only added: its shape is enough
            kept[1:4] = [None if one is None else one.new_zeros(()).expand(one.shape) for one in tensors[1:4]]
        ctx.save_for_backward(*kept)
        out: Tensor = rows(tensors[8:], columns, *tensors[:8], num, ending)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        kept = ctx.saved_tensors
        others, parts = kept[:8], kept[8:]
        wanted = ctx.needs_input_grad[3:]
        needs = [*(wanted[k] for k in (0, 1, 2, 3, 5, 6)), *wanted[8:]]
        found = rows_backward(grads[0].contiguous(), parts, ctx.columns, *others, ctx.ending, needs)
        found = [of if need else None for of, need in zip(found, needs, strict=True)]
        return None, None, None, *found[:4], None, *found[4:6], None, *found[6:]


class NeighbourSum(torch.autograd.Function):
    """The gradient of `neighbour_sum`: the same, over the edges turned round."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, *others: Tensor | None) -> Tensor:
        ctx.save_for_backward(*others)
        out: Tensor = neighbour_sum(values, *others)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        pointer, source, back_pointer, back_source, inner, outer = ctx.saved_tensors
        structure = (back_pointer, back_source, pointer, source, outer, inner)
        return NeighbourSum.apply(grads[0].contiguous(), *structure), *[None] * 6  # type: ignore[no-untyped-call]


class Layer(torch.autograd.Function):
    """The gradient of `layer`, in one operator too."""

    @staticmethod
    def forward(ctx: Any, flags: Sequence[bool], numbers: Sequence[float], *tensors: Any) -> tuple[Tensor, Tensor]:
        x, z, edge, *others = tensors
        x2, z2, kept = layer(x, z, edge, others[:7], others[7:], flags, numbers)
        ctx.flags, ctx.numbers = flags, numbers
        ctx.save_for_backward(kept, *tensors)
        return x2, z2

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        kept, x, z, edge, *others = ctx.saved_tensors
        grad_x, grad_z = (grad.contiguous() for grad in grads)
        structure, weights = others[:7], others[7:]
        of = layer_backward(grad_x, grad_z, kept, x, z, edge, structure, weights, ctx.flags, ctx.numbers)
        return None, None, *of[:2], *[None] * 8, *of[2:]

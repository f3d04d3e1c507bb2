r"""Fused kernels: the sums and products of the layers, without the hidden rows in memory.

Every costly step of a layer is one thing, a Linear over a concatenation (see `engnn.nn.linear`) and what becomes of it:

.. math:: H_{i,c} = \textstyle\sum_p W_p\, part_p[i, c] + b + own[i] + table[entry[i], c]

itself (`product`), its second Linear (`linear`), or sums of it over channels (`sum_channels`) or over the rows of each
set (`sum_sets`), after the activation (ReLU). The rows H are made a cache-full at a time, and again in the backward
pass: what is kept are the inputs. Sums over neighbours are sparse products (`neighbour_sum`). Where graphs are small,
all of a layer is one (`layer`). `$ENGNN_KERNELS` chooses who computes them, `status` tells who does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engnn.kernels import choice, cpu, ops, plain
from engnn.kernels.choice import Choice
from engnn.kernels.plain import Ending

__all__ = [
    "Adjacency",
    "Choice",
    "Rows",
    "layer",
    "linear",
    "neighbour_sum",
    "product",
    "status",
    "sum_channels",
    "sum_sets",
]
LARGE = 1 << 20  # values of a graph's noise


class Rows(NamedTuple):
    """The rows H, not yet made.

    >>> rows = Rows((torch.ones(5, 3, 2), torch.ones(5, 3, 4)), (0, 2), torch.ones(8, 6))
    >>> sum_channels(rows).shape, linear(rows, torch.ones(7, 8)).shape
    (torch.Size([5, 8]), torch.Size([5, 3, 7]))
    """

    parts: Sequence[Tensor]  # [n, C, K_p]; or, where nothing has channels, [n, K_p]
    columns: Sequence[int]  # where in the weight's columns each part's begin
    weight: Tensor  # [H, K]
    bias: Tensor | None = None  # [H]
    own: Tensor | None = None  # [n, at most H], what all channels of a row get in their first columns
    table: Tensor | None = None  # [T, C, H] or [T, H]
    entry: Tensor | None = None  # [n], the row of the table that each row gets; None: all get its one row


def product(rows: Rows) -> Tensor:
    """H: `[n, C, H]`, or `[n, H]` where nothing has channels."""
    return _apply(rows, Ending.PRODUCT)


def linear(rows: Rows, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """W₂ relu(H) + b₂: `[n, C, out]`, or `[n, out]`.

    Where H has `out` columns more than W₂ takes, they go past the activation: W₂ relu(H[:-out]) + b₂ + H[-out:].
    """
    return _apply(rows, Ending.LINEAR, weight, bias)


def sum_channels(rows: Rows) -> Tensor:
    """Σ_c relu(H_c): `[n, H]`. Where nothing has channels, relu(H)."""
    return _apply(rows, Ending.CHANNELS)


def sum_sets(rows: Rows, owner: Tensor | None, num: int) -> Tensor:
    """Σ relu(H_i) over the rows `owner[i] = s` of each set s, all when None: `[num, C, H]`, or `[num, H]`."""
    return _apply(rows, Ending.SETS, owner=owner, num=num)


class Adjacency(NamedTuple):
    """Edges sorted both ways: those into i come from `source[pointer[i]:pointer[i+1]]`; and the same turned round."""

    pointer: Tensor
    source: Tensor
    back_pointer: Tensor
    back_source: Tensor
    order: Tensor  # which edge each of `source` is

    @classmethod
    def of(cls, source: Tensor, target: Tensor, num_nodes: int) -> Adjacency:
        """Built once a batch.

        >>> Adjacency.of(torch.tensor([0, 2, 1]), torch.tensor([1, 1, 0]), 3).pointer.tolist()
        [0, 1, 3, 3]
        """
        pointer, sources, order = _compressed(source, target, num_nodes)
        return cls(pointer, sources, *_compressed(target, source, num_nodes)[:2], order)


def neighbour_sum(values: Tensor, edges: Adjacency, scale: Tensor | None = None) -> Tensor:
    """scale[i] · Σ of `values` `[n, …]` over the nodes with an edge into i. Nothing is built for each edge."""
    out: Tensor = ops.NeighbourSum.apply(values, *edges[:4], None, scale)  # type: ignore[no-untyped-call]
    return out


def layer(
    given: tuple[Tensor, Tensor, Tensor | None],
    edges: Adjacency,
    owner: Tensor,
    sizes: Tensor,
    weights: Iterable[Tensor],
    flags: tuple[bool, bool],
    numbers: tuple[float, float, float],
) -> tuple[Tensor, Tensor] | None:
    """The whole of `engnn.nn.ENConv` of x, z and e, with its weights in their order; None where no kernel does it.

    Flags: whether there are noise messages, and whether Z is added to Z². Numbers: τ of neighbours and of graphs, and
    what φ's sum over channels is multiplied by. A graph is one thread's, so large ones are left to other operators.
    """
    x, z, _ = given
    if choice.chosen(x.device.type).name != "cpp" or z.numel() > LARGE * sizes.size(0):
        return None
    weights, (pointer, source, back_pointer, back_source, order) = tuple(weights), edges
    structure = (pointer, source, order, back_pointer, back_source, owner, sizes)
    if not cpu.fits(given, structure, weights) or torch.is_autocast_enabled("cpu"):
        return None
    out: tuple[Tensor, Tensor] = ops.Layer.apply(flags, numbers, *given, *structure, *weights)  # type: ignore[no-untyped-call]
    return out


def status(device: str = "cpu") -> Choice:
    """What computes on a device, and why.

    >>> status().name in ("cpp", "torch", "off", "triton")
    True
    """
    found: Choice = choice.chosen(device)
    return found


def _apply(
    rows: Rows,
    ending: Ending,
    weight2: Tensor | None = None,
    bias2: Tensor | None = None,
    owner: Tensor | None = None,
    num: int = 1,
) -> Tensor:
    device = rows.weight.device.type
    if torch.is_autocast_enabled(device):
        to = torch.get_autocast_dtype(device)
        rows = rows._replace(parts=[part.to(to) for part in rows.parts], weight=rows.weight.to(to))
        rows = rows._replace(bias=_to(rows.bias, to), own=_to(rows.own, to), table=_to(rows.table, to))
        weight2, bias2 = _to(weight2, to), _to(bias2, to)
    if choice.chosen(device).name == "off":
        return plain.end(plain.hidden(*rows), ending, weight2, bias2, owner, num)
    parts, columns, *tensors = rows
    out: Tensor = ops.Rows.apply(columns, num, int(ending), *tensors, weight2, bias2, owner, *parts)  # type: ignore[no-untyped-call]
    return out


def _to(tensor: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if tensor is None else tensor.to(dtype)


def _compressed(source: Tensor, target: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    order = target.argsort(stable=True)
    counts = target.new_zeros(num_nodes + 1).index_add_(0, target + 1, torch.ones_like(target))
    return counts.cumsum(0), source[order].contiguous(), order

"""DeepSet, and the three steps that touch the noise: ψ, φ and h, equivariant to permutations of the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from engnn import kernels
from engnn.nn.linear import MLP, Module, SplitLinear
from engnn.parts import Affine, Part, Pending, rows
from engnn.sets import Sets


class DeepSet(Module):
    r"""A function of a set, and so the same for every order of its elements (equation of "Equivariant Aggregator"):

    .. math:: z = \text{MLP}_2\Big(\sum_{i=1}^k \text{MLP}_1(x_i)\Big)

    The second Linear of MLP₁ is one with the first of MLP₂, since only a sum stands between them. MLP₂ is given the sum
    divided by max(τ, k) beside log(1 + k), from which the sum itself follows: sets of a few elements and of thousands
    then have inputs of one scale, and sets of up to τ elements have plain sums.

    ψ is this one, for the nodes of a graph and each channel by itself: :math:`\psi(Z_{:,:,k})` from `Z [n, C, L]`.

    >>> import torch
    >>> DeepSet([3], 8, 5)(torch.randn(6, 3), sets=Sets.of(torch.tensor([0, 0, 1, 1, 1, 1]), 2)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self, in_channels: Sequence[int], hidden_channels: int, out_channels: int, *, typical: float = 1.0
    ) -> None:
        super().__init__()
        self.lin1 = SplitLinear(in_channels, hidden_channels)
        self.mlp2 = MLP([hidden_channels, 1], hidden_channels, out_channels)
        self.typical = typical

    def forward(self, *parts: Part, sets: Sets) -> Tensor:
        owner = None if sets.num == 1 else sets.owner
        return self.after(kernels.sum_sets(rows(parts, self.lin1.weight, self.lin1.bias), owner, sets.num), sets).made()

    def after(self, total: Tensor, sets: Sets) -> Pending:
        """MLP₂ of the sum."""
        size = sets.column(total).log1p().to(total.dtype).expand(*total.shape[:-1], 1)
        return self.mlp2.pending(total * sets.scale(total, self.typical), size)


class NodeEncoding(Module):
    r"""φ: what a node's noise says whatever the order of the channels. It sums over channels:

    .. math:: \phi(Z^1_i) = \text{MLP}_2\Big(\sum_{k=1}^C \text{MLP}_1(Z^1_{i,:,k})\Big)

    It is divided by √C, by which sums of C independent channels spread. Each given one stands for `copies` equal ones.
    """

    def __init__(self, noise_in: Sequence[int], hidden_channels: int, out_channels: int, copies: int = 1) -> None:
        super().__init__()
        self.lin1, self.copies = SplitLinear(noise_in, hidden_channels), copies
        self.mlp2 = MLP([hidden_channels], out_channels, out_channels)

    def forward(self, z: Tensor, *more: Part) -> Pending:
        total = kernels.sum_channels(rows((z, *more), self.lin1.weight, self.lin1.bias))
        return self.mlp2.pending(total * (self.copies / z.size(1)) ** 0.5)


class NoiseUpdate(Module):
    r"""h: the new noise representation of one channel at one node, from it and from the node's own x¹ and x⁰:

    .. math:: Z^2_{i,:,j} = h(x^1_i \Vert x^0_i \Vert Z^1_{i,:,j}) = \text{MLP}(\dots) + W Z^1_{i,:,j}

    The linear part lets noise travel untouched from the first layer on: without it, nothing is learned for long.
    """

    def __init__(self, node_in: Sequence[int], noise_in: Sequence[int], noise_out: int) -> None:
        super().__init__()
        self.mlp = MLP([*noise_in, *node_in], noise_out, noise_out)
        self.lin = SplitLinear(noise_in, noise_out, bias=False)

    @property
    def of_x(self) -> Affine:
        """The first Linear's part in x¹ and x⁰, the same for all channels."""
        return self.mlp.lin1.of(len(self.lin.in_channels)), self.mlp.lin1.bias

    def forward(self, own: Tensor, z1: Sequence[Part]) -> Tensor:
        """The update, `own` being the product of `of_x`. MLP and W begin with one product."""
        lin1, lin2 = self.mlp.lin1, self.mlp.lin2
        weight = torch.cat([lin1.of(0, len(z1)), self.lin.weight])
        return kernels.linear(rows(z1, weight, own=own), lin2.weight, lin2.bias)


class Symmetry(NamedTuple):
    """The group that the noise is treated under: the three steps that touch it, and whether a bias respects it."""

    psi: Callable[..., nn.Module]
    phi: Callable[..., Any]
    h: Callable[..., Any]
    bias: bool


PERMUTATION = Symmetry(DeepSet, NodeEncoding, NoiseUpdate, bias=True)

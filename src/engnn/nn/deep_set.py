"""DeepSet, and the three DeepSet-like steps that touch the noise: ψ, φ and h, equivariant to permutations of channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from engnn.nn.linear import MLP, SplitLinear, activation
from engnn.nn.sets import Sets, Shared


class DeepSet(nn.Module):
    r"""A function of a set, and so the same for every order of its elements (equation of "Equivariant Aggregator"):

    .. math:: z = \text{MLP}_2\Big(\sum_{i=1}^k \text{MLP}_1(x_i)\Big)

    The second Linear of MLP₁ is one with the first of MLP₂, since only a sum stands between them. MLP₂ is given the sum
    divided by max(τ, k) beside log(1 + k), from which the sum itself follows: sets of a few elements and of thousands
    then have inputs of one scale, and sets of up to τ elements have plain sums.

    >>> two = DeepSet([3], 8, 5)(torch.randn(6, 3), sets=Sets.of(torch.tensor([0, 0, 1, 1, 1, 1]), 2))
    >>> two.shape
    torch.Size([2, 5])
    """

    def __init__(
        self, in_channels: Sequence[int], hidden_channels: int, out_channels: int, *, typical: float = 1.0
    ) -> None:
        super().__init__()
        self.lin1 = SplitLinear(in_channels, hidden_channels)
        self.mlp2 = MLP([hidden_channels, 1], hidden_channels, out_channels)
        self.typical = typical

    def reset_parameters(self) -> None:
        self.lin1.reset_parameters()
        self.mlp2.reset_parameters()

    def forward(self, *parts: Tensor | Shared, sets: Sets) -> Tensor:
        return self.after(sets.sum(activation(self.lin1(*parts))), sets)

    def after(self, total: Tensor, sets: Sets) -> Tensor:
        """MLP₂ of the sum."""
        size = column(sets.sizes, total)
        out: Tensor = self.mlp2(total * scale(sets, total, self.typical), size.log1p().to(total.dtype))
        return out


def scale(sets: Sets, like: Tensor, typical: float) -> Tensor:
    """1 / max(τ, k), what a sum over k elements is multiplied by, shaped to multiply `like`."""
    return column(sets.sizes, like).clamp(min=typical).reciprocal().to(like.dtype)


def column(count: Tensor, like: Tensor) -> Tensor:
    """One number a set, shaped to broadcast against `like`; never in half precision, which counts only to 2^8."""
    exact = torch.promote_types(like.dtype, torch.float32)
    return count.to(exact).view(-1, *[1] * (like.dim() - 1))


class ChannelIdentity(DeepSet):
    r"""ψ: what tells one noise channel from another, for each graph. It sums over the graph's nodes:

    .. math:: \psi(Z_{:,:,k}) = \text{MLP}_2\Big(\sum_{i \in V} \text{MLP}_1(Z_{i,:,k})\Big)
    """

    def __init__(self, noise_in: int, noise_out: int, *, typical: float) -> None:
        super().__init__([noise_in], noise_out, noise_out, typical=typical)


class NodeEncoding(nn.Module):
    r"""φ: what a node's noise says whatever the order of the channels. It sums over channels:

    .. math:: \phi(Z^1_i) = \text{MLP}_2\Big(\sum_{k=1}^C \text{MLP}_1(Z^1_{i,:,k})\Big)
    """

    def __init__(self, noise_in: Sequence[int], hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin1 = SplitLinear(noise_in, hidden_channels)
        self.mlp2 = MLP([hidden_channels], out_channels, out_channels)

    def reset_parameters(self) -> None:
        self.lin1.reset_parameters()
        self.mlp2.reset_parameters()

    def forward(self, *z1: Tensor | Shared) -> Tensor:
        out: Tensor = self.mlp2(activation(self.lin1(*z1)).mean(1))
        return out


class NoiseUpdate(MLP):
    r"""h: the new noise representation of one channel at one node, with the node's own x¹ and x⁰ beside it:

    .. math:: Z^2_{i,:,j} = h(x^1_i \Vert x^0_i \Vert Z^1_{i,:,j})
    """

    def __init__(self, node_in: Sequence[int], noise_in: Sequence[int], noise_out: int) -> None:
        super().__init__([*noise_in, *node_in], noise_out, noise_out)

    def forward(self, x: Sequence[Tensor], z1: Sequence[Tensor | Shared]) -> Tensor:  # type: ignore[override]
        return super().forward(*z1, *(part[:, None] for part in x))


class Symmetry(NamedTuple):
    """The group that the noise is treated under: the three steps that touch it, and whether a bias respects it."""

    identity: Callable[..., nn.Module]
    encoding: Callable[..., nn.Module]
    update: Callable[..., nn.Module]
    bias: bool


PERMUTATION = Symmetry(ChannelIdentity, NodeEncoding, NoiseUpdate, bias=True)

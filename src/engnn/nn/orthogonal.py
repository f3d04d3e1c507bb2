"""The larger group: ψ, φ and h equivariant to every rotation and reflection of the noise channels, and not linear.

A node's z is then L vectors of R^C, and only three things may be done to them: mix them linearly with one another (no
bias), multiply them by invariant numbers, and take their inner products over channels, which are invariant. These feed
the invariant stream, which gates the vectors: this is where it is nonlinear. It costs what the permutation layers cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engnn.nn.deep_set import Symmetry
from engnn.nn.linear import MLP, Module, SplitLinear, activation
from engnn.parts import Affine, Part, Pending, together
from engnn.sets import Sets


class GraphVectors(Module):
    r"""In the place of ψ: vectors that the nodes of a set have in common, :math:`\sum_i W Z_i`."""

    def __init__(self, noise_in: Sequence[int], hidden_channels: int, noise_out: int, *, typical: float) -> None:
        super().__init__()
        self.lin = SplitLinear(noise_in, noise_out, bias=False)
        self.typical = typical

    def forward(self, z: Tensor, *, sets: Sets) -> Tensor:
        out: Tensor = self.lin(sets.sum(z) * sets.scale(z, self.typical))
        return out


class InnerProducts(Module):
    r"""In the place of φ: :math:`\text{MLP}\big(\langle W_u Z^1_i, W_v Z^1_i \rangle_C\big)`, learned pairs of them."""

    def __init__(self, noise_in: Sequence[int], hidden_channels: int, out_channels: int, copies: int = 1) -> None:
        super().__init__()
        self.lin_u = SplitLinear(noise_in, hidden_channels, bias=False)
        self.lin_v = SplitLinear(noise_in, hidden_channels, bias=False)
        self.mlp, self.copies = MLP([hidden_channels], out_channels, out_channels), copies

    def forward(self, z: Tensor, *more: Part) -> Pending:
        u, v = together([(self.lin_u.weight, None), (self.lin_v.weight, None)], (z, *more)).chunk(2, -1)
        return self.mlp.pending((u * v).sum(1) * (self.copies / z.size(1)) ** 0.5)


class GatedUpdate(Module):
    r"""In the place of h: :math:`Z^2_i = W_2\big(2\sigma(\text{MLP}(x^1_i \Vert x^0_i)) \odot W_1 Z^1_i\big)`.

    The gate lies between 0 and 2, so that it cannot make the vectors grow from layer to layer.
    """

    def __init__(self, node_in: Sequence[int], noise_in: Sequence[int], noise_out: int) -> None:
        super().__init__()
        self.gate = MLP(node_in, noise_out, noise_out)
        self.lin1 = SplitLinear(noise_in, noise_out, bias=False)
        self.lin2 = SplitLinear([noise_out], noise_out, bias=False)

    @property
    def of_x(self) -> Affine:
        return self.gate.lin1.weight, self.gate.lin1.bias

    def forward(self, own: Tensor, z1: Sequence[Part]) -> Tensor:
        gate = 2 * torch.sigmoid(self.gate.lin2(activation(own)))
        out: Tensor = self.lin2(gate[:, None] * self.lin1(*z1))
        return out


ORTHOGONAL = Symmetry(GraphVectors, InnerProducts, GatedUpdate, bias=False)

"""The larger group: ψ, φ and h equivariant to every rotation and reflection of the noise channels, and not linear.

A node's z is then L vectors of R^C, and only three things may be done to them: mix them linearly with one another (no
bias), multiply them by invariant numbers, and take their inner products over channels, which are invariant. The products
feed the invariant stream, and the invariant stream gates the vectors: this is where it is nonlinear. The cost is that of
the permutation layers: the same matrix products on the same shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from engnn.nn.deep_set import Symmetry, scale
from engnn.nn.linear import MLP, SplitLinear
from engnn.nn.sets import Sets, Shared


class GraphVectors(nn.Module):
    r"""In the place of ψ: vectors that a graph's nodes have in common, :math:`\sum_{i \in V} W Z_i`."""

    def __init__(self, noise_in: int, noise_out: int, *, typical: float) -> None:
        super().__init__()
        self.lin = SplitLinear([noise_in], noise_out, bias=False)
        self.typical = typical

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()

    def forward(self, z: Tensor, *, sets: Sets) -> Tensor:
        out: Tensor = self.lin(sets.sum(z) * scale(sets, z, self.typical))
        return out


class InnerProducts(nn.Module):
    r"""In the place of φ: :math:`\text{MLP}\big(\langle W_u Z^1_i, W_v Z^1_i \rangle_C\big)`, learned pairs of vectors."""

    def __init__(self, noise_in: Sequence[int], hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin_u = SplitLinear(noise_in, hidden_channels, bias=False)
        self.lin_v = SplitLinear(noise_in, hidden_channels, bias=False)
        self.mlp = MLP([hidden_channels], out_channels, out_channels)

    def reset_parameters(self) -> None:
        for module in (self.lin_u, self.lin_v, self.mlp):
            module.reset_parameters()

    def forward(self, *z1: Tensor | Shared) -> Tensor:
        u, v = self.lin_u(*z1), self.lin_v(*z1)
        out: Tensor = self.mlp((u * v).sum(1) * u.size(1) ** -0.5)
        return out


class GatedUpdate(nn.Module):
    r"""In the place of h: :math:`Z^2_i = W_2\big(2\sigma(\text{MLP}(x^1_i \Vert x^0_i)) \odot W_1 Z^1_i\big)`.

    The gate lies between 0 and 2, so that it cannot make the vectors grow from layer to layer.
    """

    def __init__(self, node_in: Sequence[int], noise_in: Sequence[int], noise_out: int) -> None:
        super().__init__()
        self.gate = MLP(node_in, noise_out, noise_out)
        self.lin1 = SplitLinear(noise_in, noise_out, bias=False)
        self.lin2 = SplitLinear([noise_out], noise_out, bias=False)

    def reset_parameters(self) -> None:
        for module in (self.gate, self.lin1, self.lin2):
            module.reset_parameters()

    def forward(self, x: Sequence[Tensor], z1: Sequence[Tensor | Shared]) -> Tensor:
        gate = 2 * torch.sigmoid(self.gate(*x))
        out: Tensor = self.lin2(gate[:, None] * self.lin1(*z1))
        return out


ORTHOGONAL = Symmetry(GraphVectors, InnerProducts, GatedUpdate, bias=False)

"""AGGR: the equivariant aggregator, over one set or over many."""

from __future__ import annotations

from torch import Tensor

from engnn.nn.deep_set import PERMUTATION, DeepSet, Symmetry
from engnn.nn.linear import MLP, Module, activation
from engnn.parts import together
from engnn.sets import Sets, Shared


class EquivariantAggregator(Module):
    r"""The four steps of section "Equivariant Aggregator", for sets whose elements have an invariant x and a noise z.

    .. math::
        Z^1_{i,:,k} &= Z_{i,:,k} \Vert \psi(Z_{:,:,k}) \\
        X^0_i &= \phi(Z^1_i) \Vert X_i \\
        X^1 &= \varphi(X^0) \\
        X^2_i &= g(X^1 \Vert X^0_i), \qquad Z^2_{i,:,j} = h(X^1 \Vert X^0_i \Vert Z^1_{i,:,j})

    Args:
        in_channels, out_channels: d and d′, the widths of x.
        noise_in, noise_out: L and L′, the widths of z.
        typical: τ of the sums over sets, see `DeepSet`.
        symmetry: what the noise channels may undergo, `PERMUTATION` or `ORTHOGONAL`.

    Shapes: x `[k, d]`, z `[k, C, L]`, `index` `[k]` the set of each element (one set when None) of `num_sets` sets.

    >>> import torch
    >>> x, z = EquivariantAggregator(3, 8, 2, 4)(torch.randn(5, 3), torch.randn(5, 7, 2))
    >>> x.shape, z.shape
    (torch.Size([5, 8]), torch.Size([5, 7, 4]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        noise_in: int,
        noise_out: int,
        *,
        typical: float = 1.0,
        symmetry: Symmetry = PERMUTATION,
    ) -> None:
        super().__init__()
        hidden, x0, z1 = out_channels, [out_channels, in_channels], [noise_in, noise_in]
        self.psi = symmetry.psi([noise_in], noise_in, noise_in, typical=typical)
        self.phi = symmetry.phi(z1, noise_in, hidden)
        self.varphi = DeepSet(x0, hidden, hidden, typical=typical)
        self.g = MLP([hidden, *x0], hidden, out_channels)
        self.h = symmetry.h([hidden, *x0], z1, noise_out)

    def forward(
        self, x: Tensor, z: Tensor, index: Tensor | Sets | None = None, num_sets: int | None = None
    ) -> tuple[Tensor, Tensor]:
        sets = Sets.given(index, num_sets, x)
        z1 = (z, Shared(self.psi(z, sets=sets), sets))  # Z¹ = Z ‖ ψ(Z)
        x0 = (self.phi(*z1), x)  # X⁰ = φ(Z¹) ‖ X
        x1 = Shared(self.varphi(*x0, sets=sets), sets)  # X¹ = ϕ(X⁰)
        # g and h begin with Linears of the same X¹ ‖ X⁰: one product
        both = together([(self.g.lin1.weight, self.g.lin1.bias), self.h.of_x], (x1, *x0))
        g1, h1 = both.tensor_split([len(self.g.lin1.weight)], -1)
        x2: Tensor = self.g.lin2(activation(g1))  # X² = g(X¹ ‖ X⁰)
        z2: Tensor = self.h(h1, z1)  # Z² = h(X¹ ‖ X⁰ ‖ Z¹)
        return x2, z2

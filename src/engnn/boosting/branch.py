"""What stands beside a convolution: ψ, φ, g and h, and the noise of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.utils import is_torch_sparse_tensor, to_edge_index

from engnn.errors import InputError
from engnn.nn.deep_set import PERMUTATION, Symmetry
from engnn.nn.linear import MLP, Module, activation
from engnn.parts import Part, together
from engnn.sets import Neighbours, Sets, Shared


class NoiseBranch(Module):
    """The equations of `EquivariantNoise` after the first, given x¹ and the noise of neighbours (None: it is left out).

    Args:
        width: of x¹ and x².
        noise_in, noise_dim: L and L′.
        messages: whether the noise of neighbours is given.
        typical, symmetry, zero_init: see `EquivariantNoise`.
    """

    def __init__(
        self,
        width: int,
        noise_in: int,
        noise_dim: int,
        *,
        messages: bool = True,
        typical: float = 32.0,
        symmetry: Symmetry = PERMUTATION,
        zero_init: bool = False,
    ) -> None:
        super().__init__()
        self.width, self.added, self.zero_init = width, noise_in == noise_dim, zero_init
        hidden = max(width, noise_dim)
        x0, z1 = [width, hidden], [noise_in] * (3 if messages else 2)
        self.norm = nn.LayerNorm(width)
        self.psi = symmetry.psi([noise_in], noise_in, noise_in, typical=typical)
        self.phi = symmetry.phi(z1, noise_in, hidden)
        self.g = MLP(x0, hidden, width)
        self.h = symmetry.h(x0, z1, noise_dim)
        self._silence()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._silence()

    def forward(self, x1: Tensor, z: Tensor, neighbours: Tensor | None, graphs: Sets) -> tuple[Tensor, Tensor]:
        x2, later = self.begin(x1, z, neighbours, graphs)
        return x2, later()

    def begin(
        self, x1: Tensor, z: Tensor, neighbours: Tensor | None, graphs: Sets
    ) -> tuple[Tensor, Callable[[], Tensor]]:
        """x², and what makes Z²: a model's last convolution has nobody to hand it on to."""
        psi = Shared(self.psi(z, sets=graphs), graphs)
        z1: tuple[Part, ...] = (z, psi) if neighbours is None else (z, neighbours, psi)  # Z¹ = Z ‖ Σ_j Z_j ‖ ψ(Z)
        x0 = (self.norm(x1), self.phi(*z1))
        # g and h begin with Linears of the same x¹ ‖ φ(Z¹): one product
        g1, h1 = together([(self.g.lin1.weight, self.g.lin1.bias), self.h.of_x], x0).tensor_split(
            [len(self.g.lin1.weight)], -1
        )
        x2 = x1 + self.g.lin2(activation(g1))  # x² = x¹ + g(x¹ ‖ φ(Z¹))

        def later() -> Tensor:
            z2: Tensor = self.h(h1, z1)  # Z² = Z + h(x¹ ‖ φ(Z¹) ‖ Z¹)
            return z + z2 if self.added else z2

        return x2, later

    def _silence(self) -> None:
        if self.zero_init:
            nn.init.zeros_(self.g.lin2.weight)
            nn.init.zeros_(self.g.lin2.bias)


class Messages(NamedTuple):
    """The noise of neighbours, √τ / max(τ, k) Σ_{j ∈ N(i)} Z_j for each target i; what it is summed along, and τ.

    >>> import torch
    >>> z = torch.ones(2, 1, 1)
    >>> Messages.of(torch.tensor([[0, 1], [2, 2]]), z, num_targets=3, degree=1.0).sum(z).flatten()
    tensor([0., 0., 1.])
    """

    neighbours: Neighbours
    scale: Tensor
    num_targets: int

    @classmethod
    def of(cls, edge_index: Tensor, z: Tensor, *, num_targets: int, degree: float) -> Messages:
        """For noise of as many sources as z has; τ is `degree`. All layers between the same nodes can share one."""
        if is_torch_sparse_tensor(edge_index):
            edge_index = to_edge_index(edge_index)[0].flip(0)  # PyG's sparse adjacencies are transposed
        if not isinstance(edge_index, Tensor) or edge_index.is_floating_point() or edge_index.shape[:-1] != (2,):
            raise InputError(
                "noise needs edge_index [2, m] after x: only convolutions called as conv(x, edge_index, …) fit"
            )
        square = max(z.size(0), num_targets)  # a bipartite graph is given nodes until it is square
        neighbours = Neighbours.from_edges(edge_index, square)
        return cls(neighbours, degree**0.5 * neighbours.of.scale(z.flatten(1)[:, :1], degree).flatten(), num_targets)

    def sum(self, z: Tensor) -> Tensor:
        """The sums, `[num_targets, C, L]`."""
        missing = self.neighbours.of.num - z.size(0)
        total: Tensor = self.neighbours.sum(F.pad(z, (0, 0, 0, 0, 0, missing)) if missing else z, self.scale)
        return total[: self.num_targets]

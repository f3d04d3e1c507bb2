"""The noise stream of the paper beside a convolution of PyG, which does the neighbour step of the invariant stream."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any

from torch import Tensor, nn

from engnn.boosting import widths
from engnn.boosting.branch import Messages, NoiseBranch
from engnn.errors import InputError
from engnn.nn.deep_set import PERMUTATION, Symmetry
from engnn.nn.linear import Module
from engnn.sets import Sets


class EquivariantNoise(Module):
    r"""Any convolution of PyG, and equivariant noise beside it.

    .. math::
        x^1 &= \text{conv}(x, \dots) \\
        Z^1_{i,:,k} &= Z_{i,:,k} \Vert \textstyle\sum_{j \in N(i)} Z_{j,:,k} \Vert \psi(Z_{:,:,k}) \\
        x^2_i &= x^1_i + g(x^1_i \Vert \phi(Z^1_i)), \qquad
        Z^2_{i,:,j} = Z_{i,:,j} + h(x^1_i \Vert \phi(Z^1_i) \Vert Z^1_{i,:,j})

    This is `ENConv` with the convolution in the place of ϕ, and φ(Z¹) given to x at the end of a layer rather than at
    its beginning, so that the convolution is used as it is. g and h see x¹ normalised.

    Args:
        conv: the convolution: any module called as `conv(x, edge_index, …)` that has MessagePassing inside.
        noise_channels: C. The parameters do not depend on it; noise of another C is refused.
        noise_dim: L′, the width of the noise that is returned.
        noise_in: L, the width of the noise that is given (`noise_dim` when None; then Z is added to what h says).
        out_channels: the width of what `conv` returns, where its attributes do not tell.
        noise_messages: whether neighbours' z are summed too, which is what tells graphs apart.
        degree, typical: a typical number of neighbours, and of nodes of a graph, see `ENConv`.
        symmetry: what the noise channels may undergo, `PERMUTATION` or `ORTHOGONAL`.
        zero_init: g ends with a Linear of zeros, so that x² is x¹ to the bit until it is trained.

    Shapes: x `[n, d]`, z `[n, C, L]`, edge_index `[2, m]`; for a bipartite graph x and z are pairs (sources, targets).

    >>> import torch
    >>> from torch_geometric.nn import GATConv
    >>> layer = EquivariantNoise(GATConv(3, 8, heads=2), noise_channels=7, noise_dim=4)
    >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> x, z = layer(torch.randn(3, 3), torch.randn(3, 7, 4), edge_index)
    >>> x.shape, z.shape
    (torch.Size([3, 16]), torch.Size([3, 7, 4]))
    """

    def __init__(
        self,
        conv: nn.Module,
        *,
        noise_channels: int,
        noise_dim: int,
        noise_in: int | None = None,
        out_channels: int | None = None,
        noise_messages: bool = True,
        degree: float = 4.0,
        typical: float = 32.0,
        symmetry: Symmetry = PERMUTATION,
        zero_init: bool = False,
    ) -> None:
        super().__init__()
        widths.check(conv)
        width = widths.returned(conv) if out_channels is None else out_channels
        if width is None:
            raise InputError(f"how wide the output of {type(conv).__name__} is cannot be told: pass out_channels=")
        for name, number in (("noise_channels", noise_channels), ("noise_dim", noise_dim)):
            if number < 1:
                raise InputError(f"{name}={number}: there must be at least one")
        noise_in = noise_dim if noise_in is None else noise_in
        self.conv, self.takes_batch = conv, "batch" in signature(conv.forward).parameters
        self.out_channels, self.noise_in, self.noise_dim = width, noise_in, noise_dim
        self.noise_channels, self.noise_messages, self.degree = noise_channels, noise_messages, degree
        branch = partial(NoiseBranch, width, noise_in, noise_dim, messages=noise_messages)
        self.branch = branch(typical=typical, symmetry=symmetry, zero_init=zero_init)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        z: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        *args: Any,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """x² and Z², those of the targets where x and z are pairs.

        Args:
            x, edge_index, *args, **kwargs: what the convolution takes (edge_weight, edge_attr, size, …).
            z: the noise, `[n, C, L]` (`[n, C]` when L is 1).
            batch: the graph of each node (of the targets); one graph when None. It goes to the convolution where that
                takes one.
            batch_size: the number of graphs, where the last may have no node.
        """
        z_source, z_target = (self._checked(noise) for noise in (z if isinstance(z, tuple) else (z, z)))
        if batch is not None and self.takes_batch:
            kwargs["batch"] = batch
        x1 = self.conv(x, edge_index, *args, **kwargs)  # x¹ = conv(x, …)
        self.check_output(x1, z_target)
        messages = self.messages(edge_index, z_source, z_target.size(0))
        total = None if messages is None else messages.sum(z_source)
        x2, z2 = self.branch(x1, z_target, total, Sets.given(batch, batch_size, z_target))
        return x2, z2

    def messages(self, edge_index: Tensor, z: Tensor, num_targets: int) -> Messages | None:
        """What noise like z is summed along, if it is."""
        return Messages.of(edge_index, z, num_targets=num_targets, degree=self.degree) if self.noise_messages else None

    def _checked(self, given: Any) -> Tensor:
        """The noise `[n, C, L]`, if it is that."""
        called = "this layer is called as layer(x, z, edge_index, …)"
        if not isinstance(given, Tensor) or not given.is_floating_point():
            what = f"a tensor of {given.dtype}" if isinstance(given, Tensor) else type(given).__name__
            raise InputError(f"z should be noise [n, {self.noise_channels}, {self.noise_in}], but is {what}; {called}")
        z: Tensor = given[..., None] if given.dim() == 2 else given
        if z.dim() != 3:
            raise InputError(f"z has shape {list(z.shape)}, but should have [n, C, L]; {called}")
        if z.size(1) != self.noise_channels:
            raise InputError(
                f"z has {z.size(1)} channels, but the layer was made with noise_channels={self.noise_channels}; "
                "make the two agree"
            )
        if z.size(2) != self.noise_in:
            raise InputError(
                f"z has width {z.size(2)}, but the layer takes {self.noise_in}; make it with noise_in={z.size(2)}, "
                f"or bring z to {self.noise_in} by a Linear"
            )
        return z

    def check_output(self, x1: Any, z: Tensor) -> None:
        """Refuses what the convolution has said, if noise cannot stand beside it."""
        conv = type(self.conv).__name__
        if not isinstance(x1, Tensor):
            raise InputError(f"{conv} returned a {type(x1).__name__}: let it return x alone, without attention weights")
        if x1.dim() != 2 or x1.size(-1) != self.out_channels:
            raise InputError(
                f"{conv} returned x of shape {list(x1.shape)}, but {self.out_channels} columns were expected: "
                f"pass out_channels={x1.size(-1)}"
            )
        if x1.size(0) != z.size(0):
            raise InputError(
                f"{conv} returned {x1.size(0)} nodes, but z has {z.size(0)}: give noise for the same nodes, "
                "as a pair (sources, targets) where x is one"
            )

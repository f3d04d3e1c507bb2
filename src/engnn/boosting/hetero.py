"""The noise stream beside a convolution over several types of nodes: noise per type, messages per relation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from engnn.boosting.branch import Messages, NoiseBranch
from engnn.errors import InputError
from engnn.nn.linear import Module, SplitLinear
from engnn.sets import Sets

Relation = tuple[str, str, str]


class HeteroEquivariantNoise(Module):
    r"""A convolution over several types of nodes (`HeteroConv`, `HGTConv`, `HANConv`), and equivariant noise beside it.

    Every type t has noise of its own in the same channels, and its own ψ, φ, g, h; every relation r its own W_r:

    .. math::
        x^1 = \text{conv}(x, \dots), \qquad
        Z^1_i = Z_i \Vert \textstyle\sum_r W_r \sum_{j \in N_r(i)} Z_j \Vert \psi_t(Z)

    and then as in `EquivariantNoise`.

    Args:
        conv: the convolution, called as `conv(x_dict, edge_index_dict, …)`.
        out_channels: for each type of nodes, the width of what `conv` returns; types that it returns nothing for keep
            their noise, and are left out.
        relations: the types of edges.
        noise_channels, noise_dim, degree, typical, zero_init: see `EquivariantNoise`.

    >>> import torch
    >>> from torch_geometric.nn import HeteroConv, SAGEConv
    >>> relations = [("author", "writes", "paper"), ("paper", "by", "author")]
    >>> conv = HeteroConv({relation: SAGEConv((-1, -1), 8) for relation in relations})
    >>> layer = HeteroEquivariantNoise(
    ...     conv, {"author": 8, "paper": 8}, relations, noise_channels=5, noise_dim=4
    ... )
    >>> x = {"author": torch.randn(2, 3), "paper": torch.randn(3, 4)}
    >>> z = {"author": torch.randn(2, 5, 4), "paper": torch.randn(3, 5, 4)}
    >>> edges = {relations[0]: torch.tensor([[0, 1], [2, 0]]), relations[1]: torch.tensor([[2, 0], [0, 1]])}
    >>> x, z = layer(x, z, edges)
    >>> x["paper"].shape, z["author"].shape
    (torch.Size([3, 8]), torch.Size([2, 5, 4]))
    """

    def __init__(
        self,
        conv: nn.Module,
        out_channels: Mapping[str, int],
        relations: list[Relation],
        *,
        noise_channels: int,
        noise_dim: int,
        degree: float = 4.0,
        typical: float = 32.0,
        zero_init: bool = False,
    ) -> None:
        super().__init__()
        self.conv, self.relations, self.degree = conv, list(relations), degree
        self.noise_channels, self.noise_dim = noise_channels, noise_dim
        self.branches = nn.ModuleDict(
            {
                name: NoiseBranch(width, noise_dim, noise_dim, typical=typical, zero_init=zero_init)
                for name, width in out_channels.items()
            }
        )
        lins = {"__".join(r): SplitLinear([noise_dim], noise_dim, bias=False) for r in self.relations}
        self.lins = nn.ModuleDict(lins)

    def forward(
        self,
        x: Mapping[str, Tensor],
        z: Mapping[str, Tensor],
        edge_index: Mapping[Relation, Tensor],
        *args: Any,
        batch: Mapping[str, Tensor] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """x² and Z² by type; `*args` and `**kwargs` go to the convolution."""
        self._check(x, z, edge_index)
        x1 = self.conv(x, edge_index, *args, **kwargs)
        x2, z2 = {}, dict(z)
        for name, out in x1.items():
            if out is None:
                continue
            if name not in self.branches or out.size(-1) != self.branches[name].width:
                raise InputError(
                    f"the convolution returned {out.size(-1)} columns for {name!r}: say so in out_channels={{…}}"
                )
            total = z[name].new_zeros(z[name].shape)
            for relation in self.relations:
                source, _, target = relation
                if target == name and relation in edge_index:
                    along = Messages.of(edge_index[relation], z[source], num_targets=len(z[name]), degree=self.degree)
                    total = total + self.lins["__".join(relation)](along.sum(z[source]))
            graphs = Sets.given(None if batch is None else batch[name], batch_size, z[name])
            x2[name], z2[name] = self.branches[name](out, z[name], total, graphs)
        return x2, z2

    def _check(self, x: Mapping[str, Tensor], z: Any, edge_index: Mapping[Relation, Tensor]) -> None:
        if not isinstance(z, Mapping):
            raise InputError(f"z should be noise for each type of nodes, a dict, but is {type(z).__name__}")
        for name, nodes in x.items():
            shape = (len(nodes), self.noise_channels, self.noise_dim)
            found = list(z[name].shape) if name in z else "missing"
            if name not in z or z[name].shape != shape:
                raise InputError(f"the noise of {name!r} is {found}, but should be of shape {list(shape)}")
        if unknown := [relation for relation in edge_index if relation not in self.relations]:
            raise InputError(f"the relation {unknown[0]} was not among relations= when the layer was made: add it")

"""The message-passing layer: the aggregator's four steps, with a node's neighbours as the set."""

from __future__ import annotations

from torch import Tensor

from engnn import kernels
from engnn.nn.deep_set import PERMUTATION, DeepSet, NodeEncoding, Symmetry
from engnn.nn.linear import MLP, Module, SplitLinear, activation
from engnn.parts import Part, apart, rows, together
from engnn.sets import Neighbours, Sets, Shared


class ENConv(Module):
    r"""The layer of section "Message-Passing Layer": the channels' and nodes' encodings are shared by all neighbours.

    .. math::
        Z^1_{i,:,k} &= Z_{i,:,k} \Vert \textstyle\sum_{j \in N(i)} Z_{j,:,k} \Vert \psi(Z_{:,:,k}) \\
        x^0_i &= \phi(Z^1_i) \Vert x_i \\
        x^1_i &= \varphi(\{x^0_j \Vert e_{ij} \mid j \in N(i)\}) \\
        x^2_i &= g(x^1_i \Vert x^0_i), \qquad Z^2_{i,:,j} = h(x^1_i \Vert x^0_i \Vert Z^1_{i,:,j})

    The middle term of Z¹ is the equivariant message of which the paper speaks ("passes both invariant and equivariant
    messages") but which its equations leave out; `noise_messages=False` leaves it out too. e is the feature of an edge.

    Args:
        in_channels, out_channels: d and d′, the widths of x.
        noise_in, noise_out: L and L′, the widths of z.
        edge_dim: width of the edge features (None: there are none).
        noise_messages: whether neighbours' z are summed too.
        degree: a typical number of neighbours, τ of the sums over them (see `DeepSet`). The sum of z is scaled by
            √τ / max(τ, k): the noise of τ neighbours then has the variance of one's, and a hub's does not grow.
        typical: a typical number of nodes of a graph, τ of ψ's sums.
        symmetry: what the noise channels may undergo, `PERMUTATION` or `ORTHOGONAL`.

    Shapes: x `[n, d]`, z `[n, C, L]`, `edge_index` `[2, m]`, `edge_attr` `[m, edge_dim]`, `batch` `[n]` the graph of
    each node (one graph when None) of `size` graphs. ψ sums over each graph. `residual=True` gives Z + Z² for Z².

    >>> import torch
    >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> x, z = ENConv(3, 8, 2, 4)(torch.randn(3, 3), torch.randn(3, 7, 2), edge_index)
    >>> x.shape, z.shape
    (torch.Size([3, 8]), torch.Size([3, 7, 4]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        noise_in: int,
        noise_out: int,
        *,
        edge_dim: int | None = None,
        noise_messages: bool = True,
        degree: float = 4.0,
        typical: float = 32.0,
        symmetry: Symmetry = PERMUTATION,
    ) -> None:
        super().__init__()
        self.noise_messages, self.degree, self.typical = noise_messages, degree, typical
        hidden, x0, z1 = out_channels, [out_channels, in_channels], [noise_in] * (3 if noise_messages else 2)
        self.psi = symmetry.psi([noise_in], noise_in, noise_in, typical=typical)
        self.phi = symmetry.phi(z1, noise_in, hidden)
        self.varphi = DeepSet(x0, hidden, hidden, typical=degree)
        self.lin_edge = None if edge_dim is None else SplitLinear([edge_dim], hidden, bias=False)
        self.g = MLP([hidden, *x0], hidden, out_channels)
        self.h = symmetry.h([hidden, *x0], z1, noise_out)

    def forward(
        self,
        x: Tensor,
        z: Tensor,
        edge_index: Tensor | Neighbours,
        edge_attr: Tensor | None = None,
        batch: Tensor | Sets | None = None,
        size: int | None = None,
        residual: bool = False,
    ) -> tuple[Tensor, Tensor]:
        if (edge_attr is None) != (self.lin_edge is None):
            raise ValueError("edge_attr is needed exactly when the layer was made with edge_dim; make the two agree")
        neighbours = edge_index if isinstance(edge_index, Neighbours) else Neighbours.from_edges(edge_index, x.size(0))
        graphs = Sets.given(batch, size, x)

        numbers = (self.degree, self.typical, (self.phi.copies / z.size(1)) ** 0.5)
        given, flags = ((x, z, edge_attr), neighbours.edges, *graphs[::2]), (self.noise_messages, residual)
        whole = isinstance(self.phi, NodeEncoding) and kernels.layer(*given, self.parameters(), flags, numbers)
        if whole:  # all of what follows, in one kernel
            return whole
        psi, scale = Shared(self.psi(z, sets=graphs), graphs), neighbours.of.scale(x, self.degree).flatten()
        told = [neighbours.sum(z, self.degree**0.5 * scale)] if self.noise_messages else []
        z1: tuple[Part, ...] = (z, *told, psi)  # Z¹ = Z ‖ Σ_j Z_j ‖ ψ(Z)
        x0 = (self.phi(*z1), x)  # x⁰ = φ(Z¹) ‖ x
        # ϕ, g and h begin with Linears of the same x⁰, then g and h with Linears of the same x¹: one product each
        (h_x, h_bias), hidden = self.h.of_x, len(self.g.lin1.weight)
        x0_linears = [(self.varphi.lin1.weight, self.varphi.lin1.bias), (self.g.lin1.of(1), self.g.lin1.bias)]
        node, own = apart(together([*x0_linears, (h_x[:, hidden:], h_bias)], x0), hidden)
        if edge_attr is None or self.lin_edge is None:
            messages = neighbours.sum(activation(node))  # Σ_{j ∈ N(i)} MLP₁(x⁰_j ‖ e_ij), the inside of ϕ
        else:
            edges = kernels.Rows([edge_attr], [0], self.lin_edge.weight, table=node, entry=neighbours.source)
            messages = kernels.sum_sets(edges, neighbours.of.owner, neighbours.of.num)
        x1 = self.varphi.after(messages, neighbours.of)  # x¹ = ϕ({x⁰_j ‖ e_ij})
        g1, h1 = apart(together([(self.g.lin1.of(0, 1), None), (h_x[:, :hidden], None)], [x1], own), hidden)
        x2 = kernels.product(rows([activation(g1)], self.g.lin2.weight, self.g.lin2.bias))  # x² = g(x¹ ‖ x⁰)
        z2: Tensor = self.h(h1, z1)  # Z² = h(x¹ ‖ x⁰ ‖ Z¹)
        return x2, z + z2 if residual else z2

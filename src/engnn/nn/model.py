"""ENGNN: noise in, layers, a readout for any set of nodes out; and predictions averaged over draws of the noise."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from engnn import noise as noises
from engnn.nn.conv import ENConv
from engnn.nn.deep_set import PERMUTATION
from engnn.nn.linear import Module, SplitLinear
from engnn.nn.orthogonal import ORTHOGONAL
from engnn.nn.readout import SubsetReadout
from engnn.sets import Level, Neighbours, Sets, as_targets, count_nodes

SYMMETRIES = {"permutation": PERMUTATION, "orthogonal": ORTHOGONAL, "none": PERMUTATION}
PROBABILITIES: dict[str, Any] = {"value": torch.clone, "class": partial(torch.softmax, dim=-1), "binary": torch.sigmoid}


class Prediction(NamedTuple):
    """The mean over draws of the noise, and their standard deviation."""

    mean: Tensor
    spread: Tensor


class ENGNN(Module):
    r"""The Equivariant Noise GNN of section "Architecture".

    :math:`X^{(0)}` is made of the node features and :math:`Z^{(0)}` of the noise, each by one Linear; then `num_layers`
    of `ENConv`, each added to what it was given, the invariant stream normalised on its way in; then `SubsetReadout`.

    Args:
        in_channels: width of the node features; 0 where there are none (`x=None`).
        hidden_channels, out_channels, num_layers: d, the width of the answer, and how many layers pass messages.
        noise_channels, noise_dim: C and L.
        noise: kind of noise, see `engnn.noise.sample`; each is brought to mean square 1.
        symmetry: `permutation` of the noise channels (the paper), `orthogonal`, or `none` (noise as plain features).
        variant: `engnn`; or the paper's ablations on the same code path, `mpnn` (noise replaced by zero) and `nmpnn`
            (symmetry `none`).
        edge_dim: width of the edge features (None: there are none).
        level: what the answers are about; `node`, `link`, `subgraph` or `graph`.
        output: what answers are, which `predict` averages: a `value`, the logits of a `class`, or `binary` logits.
        noise_messages: whether layers also sum the neighbours' z (the paper's equations, as printed, do not).
        degree, typical: a typical number of neighbours, and of nodes a graph; sums of so many are plain, see `DeepSet`.
        feature_scale: what the node features are multiplied by, best to mean square 1, which the noise has too.
        dropout: on the node features and on what each layer adds to the invariant stream.
        recompute: whether training keeps of each layer its inputs only, and computes the layer again going back.

    >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> model = ENGNN(0, 16, 2, 2, noise_channels=8, noise_dim=4, level="link")
    >>> model(None, edge_index, targets=torch.tensor([[0, 1], [1, 2]]), noise=0).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        *,
        noise_channels: int,
        noise_dim: int,
        noise: str = "onehot+normal",
        symmetry: Literal["permutation", "orthogonal", "none"] = "permutation",
        variant: Literal["engnn", "mpnn", "nmpnn"] = "engnn",
        edge_dim: int | None = None,
        level: Level = "graph",
        output: Literal["value", "class", "binary"] = "value",
        noise_messages: bool = True,
        degree: float = 4.0,
        typical: float = 32.0,
        feature_scale: float = 1.0,
        dropout: float = 0.0,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.symmetry = "none" if variant == "nmpnn" else symmetry
        self.variant, self.level, self.output = variant, level, output
        self.in_channels, self.noise_channels, self.noise = in_channels, noise_channels, noise
        group, self.silent = SYMMETRIES[self.symmetry], variant == "mpnn" or self.symmetry == "none"
        if self.silent:  # all channels are equal then: one is computed, and stands for all
            group = group._replace(phi=partial(group.phi, copies=noise_channels))
        self.kinds = len(noises.parse(noise))  # K, the features of a channel
        plain = noise_channels * self.kinds if self.symmetry == "none" else 0
        self.lin_x = SplitLinear([in_channels, plain], hidden_channels)
        self.lin_z = SplitLinear([self.kinds], noise_dim, bias=group.bias)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in range(num_layers + 1))
        d = hidden_channels
        layer = partial(ENConv, d, d, noise_dim, noise_dim, edge_dim=edge_dim, noise_messages=noise_messages)
        self.convs = nn.ModuleList(layer(degree=degree, typical=typical, symmetry=group) for _ in range(num_layers))
        self.readout = SubsetReadout(d, d, out_channels, noise_dim, level=level, typical=typical, symmetry=group)
        self.feature_scale, self.dropout, self.recompute = feature_scale, nn.Dropout(dropout), recompute

    def forward(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        *,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        targets: Tensor | tuple[Tensor, Tensor] | tuple[Tensor, Tensor, int] | None = None,
        noise: Tensor | int | None = None,
        num_nodes: int | None = None,
        size: int | None = None,
        graph_id: Tensor | None = None,
    ) -> Tensor:
        """The answers `[T, out_channels]`, one a target.

        Args:
            x: `[n, in_channels]`, or None (then `num_nodes`, `batch` or a noise tensor tells n, else the edges do).
            edge_index: `[2, m]`; an undirected edge is there twice.
            edge_attr: `[m, edge_dim]`.
            batch: `[n]`, the graph of each node; one graph when None.
            targets: node ids `[T]` or a mask `[n]` (all nodes when None); pairs `[2, T]`; `(nodes, index)` or
                `(nodes, index, T)`, where `nodes[i]` belongs to subgraph `index[i]`; none for graphs.
            noise: the noise itself, `[n, C]` (`[n, C, K]` for a sum of K kinds); or a seed; or None, for a seed drawn
                from torch's global generator.
            num_nodes, size: n, and the number of graphs, where nothing else tells them (those at the end may be bare).
            graph_id: `[size]`, what the graphs are called, so that a seed gives a graph the same noise in every batch.
        """
        if (0 if x is None else x.size(-1)) != self.in_channels:
            given = "no x was given" if x is None else f"x has {x.size(-1)} columns"
            raise ValueError(f"in_channels={self.in_channels}, but {given}; make the two agree (0 and x=None: none)")
        n = count_nodes(edge_index, num_nodes, x, batch, noise)
        features = self.lin_x.weight.new_zeros(n, 0) if x is None else self.dropout(self.feature_scale * x)
        noise = self._noise(noise, n, batch, graph_id)
        graphs, neighbours = Sets.given(batch, size, features), Neighbours.from_edges(edge_index, n)
        # X⁽⁰⁾, Z⁽⁰⁾
        plain = noise.flatten(1) if self.symmetry == "none" else features[:, :0]
        x, z = self.lin_x(features, plain), self.lin_z(torch.zeros_like(noise[:, :1]) if self.silent else noise)
        for norm, conv in zip(self.norms, self.convs, strict=False):
            layer = partial(checkpoint, conv, use_reentrant=False) if self.recompute and self.training else conv
            dx, z = layer(norm(x), z, neighbours, edge_attr, graphs, residual=True)
            x = x + self.dropout(dx)
        out: Tensor = self.readout(self.norms[-1](x), z, graphs, as_targets(self.level, targets, graphs.owner))
        return out

    @torch.no_grad()
    def predict(self, data: Any, *, draws: int = 8, seed: int = 0) -> Prediction:
        """The mean and the spread of the answers over `draws` draws of the noise; probabilities, where there are any.

        Of `data`, a PyG `Data` or `Batch`, `targets` (of links `edge_label_index` too) and `graph_id` are used, if any.
        """
        given = {name: getattr(data, name, None) for name in ("edge_attr", "batch", "targets", "graph_id")}
        if given["targets"] is None and self.level == "link":
            given["targets"] = getattr(data, "edge_label_index", None)
        n, ptr, training = int(data.num_nodes), getattr(data, "ptr", None), self.training
        self.eval()
        answers = []
        for draw in range(draws):
            noise = self.sample_noise(n, seed=seed, draw=draw, batch=given["batch"], graph_id=given["graph_id"])
            size = None if ptr is None else len(ptr) - 1
            out = self(data.x, data.edge_index, **given, noise=noise, num_nodes=n, size=size)
            answers.append(PROBABILITIES[self.output](out))
        self.train(training)
        stack = torch.stack(answers)
        return Prediction(stack.mean(0), stack.std(0, correction=0))

    def sample_noise(
        self,
        num_nodes: int,
        *,
        seed: noises.Word,
        draw: noises.Word = 0,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
    ) -> Tensor:
        """Noise of this model's kind, `[n, C]` or `[n, C, K]`, on its device and in its precision."""
        like = self.lin_x.weight
        noise = partial(noises.sample, self.noise, num_nodes, self.noise_channels, seed=seed, draw=draw)
        return noise(batch=batch, graph_id=graph_id, device=like.device, dtype=like.dtype)

    def _noise(self, noise: Tensor | int | None, n: int, batch: Tensor | None, graph_id: Tensor | None) -> Tensor:
        """The noise `[n, C, K]` that was given or asked for, brought to mean square 1."""
        if self.variant == "mpnn":
            return self.lin_x.weight.new_zeros(n, self.noise_channels, self.kinds)
        if not isinstance(noise, Tensor):
            seed = torch.randint(2**62, ()) if noise is None else noise
            noise = self.sample_noise(n, seed=seed, batch=batch, graph_id=graph_id)
        return noises.as_features(noise, self.noise, n, self.noise_channels)

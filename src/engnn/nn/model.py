"""ENGNN: noise in, layers, a readout for any set of nodes out; and predictions averaged over draws of the noise."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from engnn import noise as noises
from engnn.nn.conv import ENConv
from engnn.nn.deep_set import PERMUTATION
from engnn.nn.linear import SplitLinear
from engnn.nn.orthogonal import ORTHOGONAL
from engnn.nn.readout import SubsetReadout, Targets, link_targets, node_targets, subgraph_targets
from engnn.nn.sets import Neighbours, Sets

Level = Literal["node", "link", "subgraph", "graph"]
Variant = Literal["engnn", "mpnn", "nmpnn"]
SYMMETRIES = {"permutation": PERMUTATION, "orthogonal": ORTHOGONAL, "none": PERMUTATION}
PROBABILITIES = {"value": lambda out: out, "class": lambda out: out.softmax(-1), "binary": torch.sigmoid}


class Prediction(NamedTuple):
    """The mean over draws of the noise, and their standard deviation."""

    mean: Tensor
    spread: Tensor


class ENGNN(nn.Module):
    r"""The Equivariant Noise GNN of section "Architecture".

    :math:`X^{(0)}` is made of the node features and :math:`Z^{(0)}` of the noise, each by one Linear; then `num_layers`
    of `ENConv`, each added to what it was given, the invariant stream normalised on its way in; then `SubsetReadout`.

    Args:
        in_channels: width of the node features; 0 where there are none (`x=None`).
        hidden_channels, out_channels: d, and the width of the answer.
        num_layers: how many message-passing layers.
        noise_channels, noise_dim: C and L.
        noise: kind of noise, see `engnn.noise.sample`.
        symmetry: `permutation` of the noise channels (the paper), `orthogonal`, or `none` (noise as plain features).
        variant: `engnn`; or the paper's ablations on the same code path, `mpnn` (the noise replaced by zero) and `nmpnn`
            (symmetry `none`).
        edge_dim: width of the edge features (None: there are none).
        level: what the answers are about; `node`, `link`, `subgraph` or `graph`.
        output: what the answers are, and so what `predict` averages: a `value`, the logits of a `class`, or `binary` logits.
        noise_messages: whether layers also sum the neighbours' z (the paper's equations, as printed, do not).
        degree, typical: a typical number of neighbours, and of nodes a graph; sums up to these sizes are plain, see `DeepSet`.
        dropout: on the node features and on what each layer adds to the invariant stream.

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
        variant: Variant = "engnn",
        edge_dim: int | None = None,
        level: Level = "graph",
        output: Literal["value", "class", "binary"] = "value",
        noise_messages: bool = True,
        degree: float = 4.0,
        typical: float = 32.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if variant == "nmpnn":
            symmetry = "none"
        self.in_channels, self.noise_channels = in_channels, noise_channels
        self.noise, self.symmetry, self.variant = noise, symmetry, variant
        self.level, self.output = level, output
        group = SYMMETRIES[symmetry]
        self.noise_features = len(noises.parse(noise))
        plain = noise_channels * self.noise_features if symmetry == "none" else 0
        self.lin_x = SplitLinear([in_channels, plain], hidden_channels)
        self.lin_z = SplitLinear([self.noise_features], noise_dim, bias=group.bias)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in range(num_layers + 1))
        self.convs = nn.ModuleList(
            ENConv(
                hidden_channels,
                hidden_channels,
                noise_dim,
                noise_dim,
                edge_dim=edge_dim,
                noise_messages=noise_messages,
                degree=degree,
                typical=typical,
                symmetry=group,
            )
            for _ in range(num_layers)
        )
        self.readout = SubsetReadout(
            hidden_channels,
            hidden_channels,
            out_channels,
            noise_dim,
            whole=level == "graph",
            typical=typical,
            symmetry=group,
        )
        self.dropout = nn.Dropout(dropout)

    def reset_parameters(self) -> None:
        for module in (self.lin_x, self.lin_z, *self.norms, *self.convs, self.readout):
            module.reset_parameters()

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
            targets: node ids `[T]` (all nodes when None); pairs `[2, T]`; for subgraphs `(nodes, index)` or
                `(nodes, index, T)`, where `nodes[i]` belongs to subgraph `index[i]`; none for graphs.
            noise: the noise itself, `[n, C]` (`[n, C, K]` for a sum of K kinds); or a seed; or None, for a seed drawn
                from torch's global generator.
            num_nodes, size: n, and the number of graphs, where nothing else tells them (nodes or graphs at the end
                without an edge or a node).
            graph_id: `[size]`, what the graphs are called, so that a seed gives a graph the same noise in every batch.
        """
        n = self._count_nodes(x, edge_index, batch, noise, num_nodes)
        like = self.lin_x.weight
        if batch is None:
            batch = torch.zeros(n, dtype=torch.long, device=like.device)
            size = 1
        graphs = Sets.of(batch, size)
        neighbours = Neighbours.from_edges(edge_index, n)
        z = self._noise(noise, n, batch, graph_id)

        features = like.new_zeros(n, 0) if x is None else self.dropout(x)
        plain = z.flatten(1) if self.symmetry == "none" else like.new_zeros(n, 0)
        x = self.lin_x(features, plain)  # X⁽⁰⁾
        z = self.lin_z(torch.zeros_like(z) if self.symmetry == "none" else z)  # Z⁽⁰⁾
        for norm, conv in zip(self.norms, self.convs, strict=False):
            dx, dz = conv(norm(x), z, neighbours, edge_attr, graphs)
            x, z = x + self.dropout(dx), z + dz
        out: Tensor = self.readout(self.norms[-1](x), z, graphs, self._targets(targets, n, batch))
        return out

    @torch.no_grad()
    def predict(self, data: Any, *, draws: int = 8, seed: int = 0) -> Prediction:
        """The mean and the spread of the answers over `draws` draws of the noise; probabilities, where there are any.

        `data` is a PyG `Data` or `Batch`: `x`, `edge_index`, `edge_attr`, `batch`, `targets` (for links
        `edge_label_index` serves too) and `graph_id` are used, where they are there.
        """
        training = self.training
        self.eval()
        targets = getattr(data, "targets", None)
        if targets is None and self.level == "link":
            targets = getattr(data, "edge_label_index", None)
        graph_id = getattr(data, "graph_id", None)
        n, batch = int(data.num_nodes), getattr(data, "batch", None)
        size = None if batch is None else int(data.num_graphs)
        answers = []
        for draw in range(draws):
            noise = self.sample_noise(n, seed=seed, draw=draw, batch=batch, graph_id=graph_id)
            out = self(
                data.x,
                data.edge_index,
                edge_attr=getattr(data, "edge_attr", None),
                batch=batch,
                targets=targets,
                noise=noise,
                num_nodes=n,
                size=size,
            )
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
        return noises.sample(
            self.noise,
            num_nodes,
            self.noise_channels,
            seed=seed,
            draw=draw,
            batch=batch,
            graph_id=graph_id,
            device=self.lin_x.weight.device,
            dtype=self.lin_x.weight.dtype,
        )

    def _noise(self, noise: Tensor | int | None, n: int, batch: Tensor, graph_id: Tensor | None) -> Tensor:
        shape = (n, self.noise_channels, self.noise_features)
        if self.variant == "mpnn":
            return self.lin_x.weight.new_zeros(shape)
        if noise is None:
            noise = self.sample_noise(n, seed=torch.randint(2**62, ()), batch=batch, graph_id=graph_id)
        elif isinstance(noise, int):
            noise = self.sample_noise(n, seed=noise, batch=batch, graph_id=graph_id)
        if noise.numel() != n * self.noise_channels * self.noise_features or noise.shape[:2] != shape[:2]:
            wanted = list(shape[: 2 if self.noise_features == 1 else 3])
            raise ValueError(
                f"noise has shape {list(noise.shape)}, but this model takes {wanted}: {n} nodes, "
                f"noise_channels={self.noise_channels}, one feature for each kind in {self.noise!r}"
            )
        return noise.reshape(shape)

    def _count_nodes(
        self, x: Tensor | None, edge_index: Tensor, batch: Tensor | None, noise: Tensor | int | None, n: int | None
    ) -> int:
        if (x is None) != (self.in_channels == 0):
            given = "no x was given" if x is None else f"x has {x.size(-1)} columns"
            raise ValueError(f"in_channels={self.in_channels}, but {given}; pass x=None exactly when in_channels=0")
        if x is not None and x.size(-1) != self.in_channels:
            raise ValueError(f"in_channels={self.in_channels}, but x has {x.size(-1)} columns; make the two agree")
        if x is not None:
            return x.size(0)
        if n is not None:
            return n
        if batch is not None:
            return batch.size(0)
        if isinstance(noise, Tensor):
            return noise.size(0)
        return 1 + int(edge_index.max()) if edge_index.numel() else 0

    def _targets(self, targets: Any, n: int, batch: Tensor) -> Targets | None:
        if self.level == "graph":
            if targets is not None:
                raise ValueError("a model of level 'graph' answers for every graph and takes no targets")
            return None
        if self.level == "subgraph":
            if not isinstance(targets, tuple):
                raise ValueError("a model of level 'subgraph' needs targets=(nodes, index) or (nodes, index, number)")
            return subgraph_targets(targets[0], targets[1], targets[2] if len(targets) > 2 else None, batch)
        if self.level == "link":
            if targets is None or targets.dim() != 2 or targets.size(0) != 2:
                raise ValueError("a model of level 'link' needs targets of shape [2, T], one pair a column")
            return link_targets(targets, batch)
        return node_targets(torch.arange(n, device=batch.device) if targets is None else targets, batch)

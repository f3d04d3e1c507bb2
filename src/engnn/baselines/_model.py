"""What the baselines share: inputs as they come from a batch, and answers for any of the four tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_mean_pool

from engnn import noise as noises
from engnn.errors import InputError
from engnn.sets import count_nodes

Targets = Tensor | tuple[Tensor, Tensor, int] | None
Pool = Callable[[Tensor, Tensor, int], Tensor]
LEVELS = ("node", "link", "subgraph", "graph")


class Given(NamedTuple):
    """Graphs and targets; see `engnn.nn.model.ENGNN.forward`."""

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor
    size: int
    targets: Targets
    noise: Tensor | None


class Baseline(nn.Module, ABC):
    """A model of nodes, `encode`, and the answers for targets.

    A node's answer is its own embedding, of `width` channels. A link's is an MLP of the product of its ends' (as in the
    examples of OGB, Hu et al. 2020); a subgraph's or a graph's is an MLP of its nodes', put together by `pool`. Where
    nodes have no features, all have the same one.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        level: str,
        levels: tuple[str, ...] = LEVELS,
        pool: Pool = global_mean_pool,
    ) -> None:
        super().__init__()
        fits(type(self).__module__.rpartition(".")[2], level, levels)
        self.in_channels = max(1, in_channels)
        self.level, self.pool = level, pool
        self.width = out_channels if level == "node" else hidden_channels
        self.head = nn.Identity() if level == "node" else mlp(hidden_channels, hidden_channels, out_channels)

    @abstractmethod
    def encode(self, given: Given) -> Tensor:
        """Embeddings of all nodes, `[n, width]`."""

    def forward(self, x: Tensor | None, edge_index: Tensor, **more: Any) -> Tensor:
        """The answers `[T, out_channels]`; see `engnn.nn.model.ENGNN.forward`."""
        given = self.given(x, edge_index, **more)
        return self.answers(self.encode(given), given)

    def given(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        *,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        targets: Targets = None,
        noise: Tensor | int | None = None,
        num_nodes: int | None = None,
        size: int | None = None,
    ) -> Given:
        """What a model is called with, and what of it was left out."""
        if x is None:
            x = next(self.parameters()).new_ones(count_nodes(edge_index, num_nodes), 1)
        if batch is None:
            batch, size = edge_index.new_zeros(len(x)), 1
        given = Given(x, edge_index, edge_attr, batch, size or 1 + int(batch.max()), targets, None)
        return given._replace(noise=self.drawn(noise, given))

    def answers(self, h: Tensor, given: Given) -> Tensor:
        """The answers for the targets, from all nodes' embeddings."""
        targets = given.targets
        if isinstance(targets, tuple):
            nodes, index, count = targets
            h = self.pool(h[nodes], index, count)
        elif self.level == "graph":
            h = self.pool(h, given.batch, given.size)
        elif self.level == "link":
            assert targets is not None
            h = h[targets[0]] * h[targets[1]]
        elif targets is not None:
            h = h[targets]
        out: Tensor = self.head(h)
        return out

    def drawn(self, noise: Tensor | int | None, given: Given) -> Tensor | None:
        """The noise that this model takes: none."""
        return None


class NoisyBaseline(Baseline):
    """A baseline that is given noise of a kind at each node."""

    kind: str
    noise_channels: int

    def drawn(self, noise: Tensor | int | None, given: Given) -> Tensor:
        """The noise itself; or that of a seed; or that of torch's global generator."""
        if isinstance(noise, Tensor):
            return noise
        seed = torch.randint(2**62, ()) if noise is None else noise
        return self.sample_noise(len(given.x), seed=seed, batch=given.batch)

    def sample_noise(
        self,
        num_nodes: int,
        *,
        seed: noises.Word,
        draw: noises.Word = 0,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
    ) -> Tensor:
        """Noise `[n, C]`; see `engnn.nn.model.ENGNN.sample_noise`."""
        like = next(self.parameters())
        return noises.sample(
            self.kind,
            num_nodes,
            self.noise_channels,
            seed=seed,
            draw=draw,
            batch=batch,
            graph_id=graph_id,
            device=like.device,
            dtype=like.dtype,
        )


def fits(model: str, level: str, levels: tuple[str, ...], why: str = "") -> None:
    """Refuse a level that a model has no answer for."""
    if level not in levels:
        raise InputError(
            f"{model} is for {' and '.join(levels)} tasks, and this is a {level} task{why}: take another --model"
        )


def mlp(*widths: int, dropout: float = 0.0) -> nn.Sequential:
    """Linear layers with ReLU between them.

    >>> mlp(2, 3, 1)(torch.ones(5, 2)).shape
    torch.Size([5, 1])
    """
    layers: list[nn.Module] = []
    for one, other in pairwise(widths):
        layers += [nn.Linear(one, other), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers[:-2])

"""What a model is given at once, and what its answers are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

Targets = Tensor | tuple[Tensor, Tensor, int] | None


class Share(NamedTuple):
    """Which part of each batch is this process's: `rank` of `world`."""

    rank: int = 0
    world: int = 1

    def of(self, rows: Tensor) -> Tensor:
        """This process's part of some rows, or of some columns of pairs."""
        return rows.tensor_split(self.world, dim=-1)[self.rank]


WHOLE = Share()


class Inputs(NamedTuple):
    """Graphs as a model takes them, on its device. Edge weights are one more edge feature."""

    x: Tensor | None
    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor
    graph_id: Tensor
    num_nodes: int
    size: int

    @classmethod
    def of(cls, data: Data, device: torch.device) -> Inputs:
        """From a batch of `engnn.data.dataset.Graphs`."""
        attr, weight = data.edge_attr, data.edge_weight
        if weight is not None:
            weight = weight.float()[:, None]
            attr = weight if attr is None else torch.cat([attr, weight], dim=1)
        return cls(
            None if data.x is None else data.x.to(device, non_blocking=True),
            data.edge_index.to(device, non_blocking=True),
            None if attr is None else attr.to(device, non_blocking=True),
            data.batch.to(device, non_blocking=True),
            data.graph_id.to(device, non_blocking=True),
            int(data.num_nodes),
            len(data.graph_id),
        )


@dataclass(frozen=True)
class Batch:
    """Some targets, the graphs they live in, and their answers where these are known."""

    inputs: Inputs
    targets: Targets
    rows: Tensor  # of each target, its place among all those that were asked for
    y: Tensor | None = None


@dataclass(frozen=True)
class Batches(Sequence[Batch]):
    """Batches made when they are asked for, so that any of them can be the first."""

    parts: Sequence[Tensor]
    make: Callable[[Tensor, Share], Batch]
    total: int  # targets in all of them
    share: Share = WHOLE

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: int) -> Batch:  # type: ignore[override]
        return self.make(self.parts[number], self.share)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.__getitem__, range(len(self)))

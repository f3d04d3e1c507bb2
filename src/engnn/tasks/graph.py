"""Whole graphs: a class, yes/no answers, values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from engnn.tasks.batch import Batch, Batches, Share
from engnn.tasks.task import Task, shuffled


class GraphTask(Task):
    """Batches are of graphs, each of which is a target."""

    level = "graph"

    def epoch(self, number: int, size: int, *, seed: int, share: Share) -> Batches:
        batches = self.part("train", size, share=share)
        return replace(batches, parts=torch.split(shuffled(batches.total, seed=seed, epoch=number), size))

    def part(self, name: str, size: int, *, share: Share) -> Batches:
        targets = self.targets(name)
        rows = targets.new_ones(len(targets)).cumsum(0) - 1
        return Batches(torch.split(rows, size), partial(self._batch, targets), len(targets), share)

    def ids(self, name: str) -> dict[str, list[str]]:
        return {"id": self._names(self.targets(name))}

    def _count(self) -> int:
        return len(self.dataset.graphs)

    def _batch(self, targets: Tensor, rows: Tensor, share: Share) -> Batch:
        rows = share.of(rows)
        graphs = targets[rows]
        y = None if self.dataset.y is None else self.dataset.y[graphs].to(self.device)
        return Batch(self._inputs(graphs), None, rows.to(self.device), y)


TASK = GraphTask

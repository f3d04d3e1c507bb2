"""Sets of nodes of one graph: a class, or yes/no answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import torch
from torch import Tensor

from engnn.data.dataset import Members
from engnn.errors import InputError
from engnn.tasks.batch import Batch, Batches, Inputs, Share
from engnn.tasks.task import Task, shuffled


class SubgraphTask(Task):
    """Each batch is the whole graph, with some of the sets as targets."""

    level = "subgraph"

    def epoch(self, number: int, size: int, *, seed: int, share: Share) -> Batches:
        batches = self.part("train", size, share=share)
        return replace(batches, parts=torch.split(shuffled(batches.total, seed=seed, epoch=number), size))

    def part(self, name: str, size: int, *, share: Share) -> Batches:
        targets = self.targets(name)
        return Batches(
            torch.split(torch.arange(len(targets)), size), partial(self._batch, targets), len(targets), share
        )

    def ids(self, name: str) -> dict[str, list[str]]:
        return {"id": self._names(self.targets(name))}

    def _count(self) -> int:
        return len(self._members)

    def _batch(self, targets: Tensor, rows: Tensor, share: Share) -> Batch:
        rows = share.of(rows)
        sets = targets[rows]
        nodes, index = self._members.select(sets)
        y = None if self.dataset.y is None else self.dataset.y[sets].to(self.device)
        members = (nodes.to(self.device), index.to(self.device), len(sets))
        return Batch(self._one, members, rows.to(self.device), y)

    @property
    def _members(self) -> Members:
        if self.dataset.members is None:
            raise InputError(f"{self.dataset.name} has no subgraphs: list them in subgraphs.csv")
        return self.dataset.members

    @cached_property
    def _one(self) -> Inputs:
        return self._inputs()


TASK = SubgraphTask

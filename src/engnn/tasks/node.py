"""Nodes, of one graph (which is then one batch) or of many (batches of graphs): a class, yes/no answers, values."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property, partial

import torch
from torch import Tensor

from engnn.data.dataset import ranges
from engnn.tasks.batch import Batch, Batches, Inputs, Share
from engnn.tasks.task import Task, shuffled


class NodeTask(Task):
    """Batches are of graphs, the targets those of their nodes that are in the part."""

    level = "node"

    def epoch(self, number: int, size: int, *, seed: int, share: Share) -> Batches:
        batches = self.part("train", size, share=share)
        if len(self.dataset.graphs) == 1:  # there is nothing to shuffle
            return batches
        graphs = torch.cat(list(batches.parts))
        order = graphs[shuffled(len(graphs), seed=seed, epoch=number)]
        return replace(batches, parts=torch.split(order, size))

    def part(self, name: str, size: int, *, share: Share) -> Batches:
        if (name, share) in self._of_one:
            return self._of_one[name, share]
        targets = self.targets(name)
        first = torch.searchsorted(targets, self.dataset.graphs.node_ptr)  # of each graph, among the targets
        graphs = torch.nonzero(first[1:] > first[:-1]).flatten()
        batches = Batches(torch.split(graphs, size), partial(self._batch, targets, first), len(targets), share)
        if len(self.dataset.graphs) == 1:  # its batch is the same in every epoch, and made once
            batches = self._of_one[name, share] = replace(batches, make=cache(batches.make))
        return batches

    def ids(self, name: str) -> dict[str, list[str]]:
        graphs, targets = self.dataset.graphs, self.targets(name)
        if self.dataset.ids or len(graphs) == 1:
            return {"id": self._names(targets)}
        graph = torch.searchsorted(graphs.node_ptr, targets, right=True) - 1
        nodes = targets - graphs.node_ptr[graph]
        return {"id": [f"{of}/{node}" for of, node in zip(graph.tolist(), nodes.tolist(), strict=True)]}

    def _count(self) -> int:
        return int(self.dataset.graphs.node_ptr[-1])

    def _batch(self, targets: Tensor, first: Tensor, graphs: Tensor, share: Share) -> Batch:
        several = len(graphs) >= share.world  # else all processes see all graphs, and share their nodes
        if several:
            graphs = share.of(graphs)
        count = first[graphs + 1] - first[graphs]
        rows = ranges(first[graphs], count)
        sizes = self.dataset.graphs.num_nodes[graphs]
        shift = sizes.cumsum(0) - sizes - self.dataset.graphs.node_ptr[graphs]
        nodes = targets[rows] + torch.repeat_interleave(shift, count)
        if not several:
            rows, nodes = share.of(rows), share.of(nodes)
        y = None if self.dataset.y is None else self.dataset.y[targets[rows]].to(self.device)
        whole = len(self.dataset.graphs) == 1
        return Batch(self._one if whole else self._inputs(graphs), nodes.to(self.device), rows.to(self.device), y)

    @cached_property
    def _of_one(self) -> dict[tuple[str, Share], Batches]:
        return {}

    @cached_property
    def _one(self) -> Inputs:
        return self._inputs()


TASK = NodeTask

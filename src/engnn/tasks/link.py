"""Links of one graph, to be told from pairs that are not joined.

In training the links of a batch carry no messages, so that the answer is never an input; the non-links beside them are
drawn anew each epoch from the pairs that are no training link. Held-out links are not looked at for that: a model that
never saw them as negatives could tell them by it.
"""

from __future__ import annotations

from functools import cached_property, partial

import torch
from torch import Tensor

from engnn.data.dataset import Links
from engnn.data.draws import Draws
from engnn.data.splits import non_edges
from engnn.errors import InputError
from engnn.tasks.answer import YesNo
from engnn.tasks.batch import Batch, Batches, Inputs, Share
from engnn.tasks.metrics import Metric, Score, ranking
from engnn.tasks.task import EVERYTHING, NEGATIVES, Task, drawn, shuffled

LEAST_BATCHES = 10  # a batch takes a tenth of the links at most: the rest are left to carry messages
ANSWERED_AT_ONCE = 1 << 16  # pairs, where no gradient is needed


class LinkTask(Task):
    """Each batch is the whole graph but the links that are asked for, with pairs as targets."""

    level = "link"

    def epoch(self, number: int, size: int, *, seed: int, share: Share) -> Batches:
        positive = self._links.train
        count = positive.size(1)
        word = Draws(seed, NEGATIVES + number).one(1 << 63)
        negative = non_edges(int(self.dataset.graphs.num_nodes[0]), positive, count, seed=word)
        order = shuffled(count, seed=seed, epoch=number)
        make = partial(self._train_batch, positive, negative)
        return Batches(torch.split(order, min(size, -(-count // LEAST_BATCHES))), make, 2 * count, share)

    def part(self, name: str, size: int, *, share: Share) -> Batches:
        pairs = torch.cat([pairs.flatten(1) for pairs in self._pairs(name)], dim=1)
        rows = torch.arange(pairs.size(1))
        inputs = self._test if name == "test" else self._one
        return Batches(torch.split(rows, ANSWERED_AT_ONCE), partial(self._batch, inputs, pairs), len(rows), share)

    def ids(self, name: str) -> dict[str, list[str]]:
        pairs = torch.cat([pairs.flatten(1) for pairs in self._pairs(name)], dim=1)
        known = self.dataset.node_ids
        named = [[known[node] if known else str(node) for node in ends] for ends in pairs.tolist()]
        return dict(zip(("source", "target"), named, strict=True))

    def truth(self, name: str) -> Tensor | None:
        if name == EVERYTHING and self.dataset.links is None:
            return None
        positive, negative = self._pairs(name)
        return torch.cat([torch.ones(positive.size(1)), torch.zeros(negative[0].numel())])[:, None]

    def score(self, name: str, answers: Tensor) -> Score:
        return None if self.dataset.links is None else self.metric.of(*self._apart(name, answers))

    def resampled(self, name: str, answers: Tensor, number: int) -> Score:
        if self.dataset.links is None:
            return None
        positive, negative = self._apart(name, answers)
        rows = drawn(len(positive), number)
        shared = negative.dim() == 1  # else each link keeps its own
        return self.metric.of(positive[rows], negative[drawn(len(negative), number) if shared else rows])

    def has(self, name: str) -> bool:
        return name == EVERYTHING or (self.dataset.links is not None and name in ("valid", "test"))

    @property
    def learnable(self) -> bool:
        return self.dataset.links is not None

    def _count(self) -> int:
        return sum(pairs[0].numel() for pairs in self._pairs(EVERYTHING))

    def _answer(self) -> YesNo:
        return YesNo(("link",))

    def _metric(self, name: str) -> Metric:
        return ranking(name)

    @property
    def _links(self) -> Links:
        if self.dataset.links is None:
            raise InputError(f"{self.dataset.name} has no links to learn from")
        return self.dataset.links

    def _pairs(self, name: str) -> tuple[Tensor, Tensor]:
        """The links and the non-links of a part; of all pairs in question it is not known which they are."""
        if self.dataset.links is None and self.dataset.members is not None:
            pairs = self.dataset.members.nodes.view(-1, 2).T
            return pairs, pairs[:, :0]
        links = self._links
        if name == "valid":
            return links.valid, links.valid_negatives
        return links.test, links.test_negatives

    def _apart(self, name: str, answers: Tensor) -> tuple[Tensor, Tensor]:
        """The answers to links, and those to non-links in the shape in which these are given."""
        positive, negative = self._pairs(name)
        count = positive.size(1)
        return answers[:count, 0], answers[count:, 0].view(negative.shape[1:])

    def _batch(self, inputs: Inputs, pairs: Tensor, rows: Tensor, share: Share) -> Batch:
        rows = share.of(rows)
        return Batch(inputs, pairs[:, rows].long().to(self.device), rows.to(self.device))

    def _train_batch(self, positive: Tensor, negative: Tensor, rows: Tensor, share: Share) -> Batch:
        held = positive[:, rows]
        pairs = share.of(torch.cat([held, negative[:, rows]], dim=1))
        y = share.of(torch.cat([torch.ones(len(rows)), torch.zeros(len(rows))]))
        keep = self._not_among(held).to(self.device)
        one = self._one
        inputs = one._replace(
            edge_index=one.edge_index[:, keep],
            edge_attr=None if one.edge_attr is None else one.edge_attr[keep],
        )
        place = share.of(torch.cat([rows, rows + positive.size(1)]))
        return Batch(inputs, pairs.to(self.device), place.to(self.device), y[:, None].to(self.device))

    def _not_among(self, pairs: Tensor) -> Tensor:
        """Which entries of the graph's edge list are none of these pairs, in either direction."""
        codes, order = self._codes
        wanted = self._code(pairs)
        first, last = torch.searchsorted(codes, wanted), torch.searchsorted(codes, wanted, right=True)
        change = torch.zeros(len(codes) + 1, dtype=torch.long)  # entries of one pair lie side by side
        ones = torch.ones_like(first)
        change.index_add_(0, first, ones).index_add_(0, last, -ones)
        keep = torch.empty(len(codes), dtype=torch.bool)
        keep[order] = change.cumsum(0)[:-1] == 0
        return keep

    def _code(self, pairs: Tensor) -> Tensor:
        """One number for each unordered pair."""
        pairs = pairs.long()
        return pairs.min(0).values * int(self.dataset.graphs.num_nodes[0]) + pairs.max(0).values

    @cached_property
    def _codes(self) -> tuple[Tensor, Tensor]:
        codes, order = self._code(self.dataset.graphs.edge_index).sort()
        return codes, order

    @cached_property
    def _one(self) -> Inputs:
        return self._inputs()

    @cached_property
    def _test(self) -> Inputs:
        """With the edges that may carry messages only in the test."""
        more = None if self.dataset.links is None else self.dataset.links.test_message
        if more is None:
            return self._one
        if self._one.edge_attr is not None:
            raise InputError(f"{self.dataset.name}: edges that are known only in the test have no features here")
        both = torch.cat([more, more.flip(0)], dim=1).to(self.device)
        return self._one._replace(edge_index=torch.cat([self._one.edge_index, both], dim=1))


TASK = LinkTask

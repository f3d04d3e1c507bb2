"""What the four tasks share: which targets are in a part, what their answers are, how they are scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from engnn.data.dataset import Dataset
from engnn.data.dataset import Task as Level
from engnn.data.draws import Draws
from engnn.errors import InputError
from engnn.tasks.answer import Answer, Classes, Values, YesNo
from engnn.tasks.batch import Batches, Inputs, Share
from engnn.tasks.metrics import Metric, Score, metric

EVERYTHING = "everything"  # the part that holds every target, labelled or not
SHUFFLE, NEGATIVES, RESAMPLE = 1 << 40, 2 << 40, 6 << 40  # streams of random words; a number is added to each


class Task(ABC):
    """Batches of targets, and the score of the answers to them.

    Every random choice is a pure function of the seed and the number of the epoch, so that any batch of any epoch can
    be made again without those before it.
    """

    level: ClassVar[Level]

    def __init__(self, dataset: Dataset, *, metric: str = "", device: torch.device | None = None) -> None:
        self.dataset = dataset
        self.device = device or torch.device("cpu")
        self.answer = self._answer()
        self.metric = self._metric(metric or dataset.metric)

    @abstractmethod
    def epoch(self, number: int, size: int, *, seed: int, share: Share) -> Batches:
        """The training batches of an epoch: of `size` graphs, subgraphs or links, shuffled anew."""

    @abstractmethod
    def part(self, name: str, size: int, *, share: Share) -> Batches:
        """All targets of a part, in their own order."""

    @abstractmethod
    def ids(self, name: str) -> dict[str, list[str]]:
        """What the targets of a part are called, by column."""

    def truth(self, name: str) -> Tensor | None:
        """The answers to a part, as far as they are known."""
        return None if self.dataset.y is None else self.dataset.y[self.targets(name)]

    def score(self, name: str, answers: Tensor) -> Score:
        """The metric of the answers to a part."""
        y = self.truth(name)
        return None if y is None else self.metric.of(answers, y)

    def resampled(self, name: str, answers: Tensor, number: int) -> Score:
        """The metric of as many targets of a part, drawn with replacement: the bootstrap's sample of that number."""
        y, rows = self.truth(name), drawn(len(answers), number)
        return None if y is None else self.metric.of(answers[rows], y[rows])

    def targets(self, name: str) -> Tensor:
        """The numbers of the targets of a part, in order."""
        if name == EVERYTHING:
            return torch.arange(self._count())
        return self._parts[name]

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name == EVERYTHING or name in self.dataset.split

    @property
    def learnable(self) -> bool:
        """Whether there is anything to learn from."""
        return self.dataset.y is not None and "train" in self.dataset.split

    def check(self) -> None:
        """Raise `InputError` unless there is something to learn from, and a score to choose by."""
        if not self.learnable:
            raise InputError(f"{self.dataset.name} has no labels and no split: there is nothing to learn from")
        blank = torch.full((self.part("valid", 1, share=Share()).total, len(self.answer.names)), 0.5)
        if self.score("valid", blank.double()) is None:
            raise InputError(
                f"{self.metric.name} is undefined on the valid part of {self.dataset.name} (too few answers of some "
                "kind there), so nothing can be chosen by it: take another metric (--metric), or another split"
            )

    @abstractmethod
    def _count(self) -> int:
        """How many targets there are in all."""

    @cached_property
    def _parts(self) -> dict[str, Tensor]:
        return {name: targets.sort().values for name, targets in self.dataset.split.items()}

    def _answer(self) -> Answer:
        data = self.dataset
        if data.classes:
            return Classes(data.classes)
        if data.multilabel:
            return YesNo(data.outputs)
        if data.y is None or not self.learnable:
            names = data.outputs or ("answer",)
            return Values(names, (0.0,) * len(names), (1.0,) * len(names))
        if data.y_scale is not None:
            mean, scale = data.y_scale
        else:
            mean, scale = _moments(data.y[data.split["train"]])
        return Values(data.outputs, tuple(mean.tolist()), tuple(scale.tolist()))

    def _metric(self, name: str) -> Metric:
        unit = None if self.dataset.y_scale is None else self.dataset.y_scale[1].double()
        return metric(name, answer=None if self.dataset.y is None else self.answer, unit=unit)

    def _names(self, targets: Tensor) -> list[str]:
        ids = self.dataset.ids
        return [ids[target] if ids else str(target) for target in targets.tolist()]

    def _inputs(self, graphs: Tensor | None = None) -> Inputs:
        return Inputs.of(self.dataset.graphs.batch(graphs), self.device)


def shuffled(count: int, *, seed: int, epoch: int) -> Tensor:
    """The numbers below `count` in an order of this epoch's own."""
    return torch.from_numpy(Draws(seed, SHUFFLE + epoch).order(count))


def drawn(count: int, number: int) -> Tensor:
    """As many of the numbers below `count`, with replacement."""
    return torch.from_numpy(Draws(number, RESAMPLE).below(count, count))


def _moments(y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread of each column's known values; a constant column keeps its unit."""
    known = ~y.isnan()
    count = known.sum(0).clamp(min=1)
    filled = torch.where(known, y, 0.0).double()
    mean = filled.sum(0) / count
    spread = (torch.where(known, filled - mean, 0.0).square().sum(0) / count).sqrt()
    return mean, torch.where(spread > 1e-12 * mean.abs(), spread, 1.0)

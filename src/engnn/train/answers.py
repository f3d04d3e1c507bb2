"""What a model says of a part of the data, draw by draw of the noise, and on average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from engnn.data.draws import Draws
from engnn.tasks.batch import Batches
from engnn.tasks.task import Task
from engnn.train.models import answer
from engnn.train.processes import Processes

WEIGHTS, STEP, DRAW = 3 << 40, 4 << 40, 5 << 40  # streams of random words; see `engnn.tasks.task`
UNSEEN: Final = 1 << 63  # the noise of answers is of another seed than that of training


class Mean(NamedTuple):
    """The mean over draws, and their standard deviation."""

    mean: Tensor
    spread: Tensor
    draws: int


class Running:
    """The mean and the spread of draws that come one by one.

    >>> running = Running()
    >>> for value in (1.0, 3.0):
    ...     running.add(torch.tensor([value], dtype=torch.float64))
    >>> running.now().mean.item(), running.now().spread.item()
    (2.0, 1.0)
    """

    def __init__(self) -> None:
        self.draws = 0
        self.mean = torch.zeros(())
        self.square = torch.zeros(())

    def add(self, answers: Tensor) -> None:
        """One more draw (Welford's update)."""
        self.draws += 1
        before = answers - self.mean
        self.mean = self.mean + before / self.draws
        self.square = self.square + before * (answers - self.mean)

    def now(self) -> Mean:
        """The mean and the spread so far."""
        return Mean(self.mean, (self.square / self.draws).clamp(min=0).sqrt(), self.draws)


def word(seed: int, stream: int) -> int:
    """A seed for torch's own generator, which models with dropout or noise of their own draw from."""
    return Draws(seed, stream).one(1 << 63)


def reseed(seed: int, device: torch.device) -> None:
    """Seed what a model on this device draws from (`torch.manual_seed` takes as long as a small layer)."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


@torch.no_grad()
def one_draw(
    model: nn.Module,
    task: Task,
    batches: Batches,
    *,
    seed: int,
    draw: int,
    processes: Processes,
    check: Callable[[], None] = lambda: None,
) -> Tensor:
    """The answers `[T, K]` to all targets of some batches under one draw of the noise, in double precision.

    `check` is called before each batch, and may raise to end this.
    """
    training = model.training
    model.eval()
    reseed(word(seed, DRAW + draw), task.device)
    answers = torch.zeros(batches.total, len(task.answer.names), dtype=torch.float64, device=task.device)
    for batch in batches:
        check()
        if len(batch.rows):
            answers[batch.rows] = task.answer.decode(answer(model, batch, seed=seed + UNSEEN, draw=draw))
    model.train(training)
    return processes.sum(answers).cpu()


def mean_answers(
    model: nn.Module,
    task: Task,
    part: str,
    *,
    size: int,
    seed: int,
    draws: int,
    processes: Processes | None = None,
    check: Callable[[], None] = lambda: None,
) -> Mean:
    """The answers to a part, averaged over draws: probabilities, never logits."""
    processes = processes or Processes()
    batches = task.part(part, size, share=processes.share)
    running = Running()
    for draw in range(draws):
        running.add(one_draw(model, task, batches, seed=seed, draw=draw, processes=processes, check=check))
    return running.now()

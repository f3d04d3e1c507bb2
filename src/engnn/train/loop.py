"""The one training loop.

Whatever is random is a pure function of the seed and of the number of the step, so that a run that was stopped at any
step goes on to the same bits without any generator's state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from engnn.errors import Stopped
from engnn.tasks.batch import Batch, Batches
from engnn.tasks.task import Task
from engnn.train import finite
from engnn.train.answers import STEP, WEIGHTS, one_draw, reseed, word
from engnn.train.config import Config
from engnn.train.flat import flattened
from engnn.train.models import answer, arguments, build
from engnn.train.processes import Processes

Row = dict[str, Any]


@dataclass
class Progress:
    """Where a run is: plain values, which with the tensors are the whole state of it."""

    epoch: int = 0  # epochs done
    batch: int = 0  # batches done of the epoch after
    step: int = 0
    loss: float = 0.0  # sum over the answers of this epoch so far
    answers: int = 0
    best: float | None = None
    best_epoch: int = 0
    seconds: float = 0.0
    done: bool = False
    history: list[Row] = field(default_factory=list)


class Told(NamedTuple):
    """What a step tells of itself (its loss, answers, whether to stop, the gradient's norm), and which it was."""

    numbers: Tensor
    ready: torch.cuda.Event | None
    batch: Batch
    step: int
    place: str

    @classmethod
    def of(cls, numbers: Tensor, batch: Batch, now: Progress, batches: int) -> Told:
        place = f"step {now.step + 1} (epoch {now.epoch + 1}, batch {now.batch + 1} of {batches}"
        ready = torch.cuda.Event() if numbers.is_cuda else None  # type: ignore[no-untyped-call]
        numbers = numbers.to("cpu", non_blocking=True)
        if ready is not None:
            ready.record()
        return cls(numbers, ready, batch, now.step, place)

    def read(self) -> list[float]:
        if self.ready is not None:
            self.ready.synchronize()
        found: list[float] = self.numbers.tolist()
        return found


class Watch(Protocol):
    """Who wants to know how a run goes."""

    def step(self, now: Progress, batches: int, loss: float) -> None:
        """After each step."""

    def epoch(self, row: Row) -> None:
        """After each epoch, with its line of `metrics.jsonl`; what it raises ends the run."""


class Training:
    """A model in training on a task."""

    def __init__(self, task: Task, config: Config, processes: Processes | None = None) -> None:
        self.task, self.config, self.processes = task, config, processes or Processes()
        self.arguments = arguments(config.model, task)
        torch.manual_seed(word(config.seed, WEIGHTS))
        self.model = build(config.model.name, self.arguments).to(task.device)
        self.weights, self.gradient = flattened(self.model)
        self.average = deepcopy(self.model) if config.train.average else None
        if self.average is not None:
            self.averaged = flattened(self.average)[0].detach()
            self.average.requires_grad_(False)
        self.run: nn.Module = torch.compile(self.model, dynamic=True) if config.train.compile else self.model  # type: ignore[assignment]
        self.optimizer = torch.optim.AdamW(
            [self.weights], config.train.learning_rate, weight_decay=config.train.weight_decay, fused=True
        )
        self.best: dict[str, Tensor] = {}
        self.now = Progress()
        self.told: list[Told] = []
        self.behind = task.device.type == "cuda" and not self.processes.several  # it never waits for its last step
        self.loss = math.nan  # of the last step that was read
        self.batches = self.new_epoch()
        self.valid = task.part("valid", config.train.batch_size, share=self.processes.share)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that the rest of the run depends on."""
        tensors = {f"model.{name}": one for name, one in self.model.state_dict().items()}
        tensors |= {f"optimizer.{key}": one for key, one in self.optimizer.state[self.weights].items()}
        if self.average is not None:
            tensors |= {f"average.{name}": one for name, one in self.average.state_dict().items()}
        tensors |= {f"best.{name}": one for name, one in self.best.items()}
        return tensors, asdict(self.now)

    def restore(self, tensors: dict[str, Tensor], now: dict[str, Any]) -> None:
        """Go on from such a state."""

        def under(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}

        self.model.load_state_dict(under("model."))
        if self.average is not None:
            self.average.load_state_dict(under("average."))
        self.best = {name: one.to(self.task.device) for name, one in under("best.").items()}
        self.optimizer.state[self.weights] = {key: one.to(self.task.device) for key, one in under("optimizer.").items()}
        self.now = Progress(**now)
        self.batches = self.new_epoch()

    def fit(
        self,
        *,
        save: Callable[[], None] = lambda: None,
        watch: Watch | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train until all epochs are done, or for long no score was better; then take the best weights.

        `save` is called when a checkpoint is due. When `stopping` says so a checkpoint is made and `Stopped` raised.
        """
        now, train = self.now, self.config.train
        began, saved_at, saved_step = time.monotonic() - now.seconds, time.monotonic(), now.step

        def checkpoint() -> None:
            nonlocal saved_at, saved_step
            now.seconds = time.monotonic() - began
            self.read()
            self._check_weights()
            save()
            saved_at, saved_step = time.monotonic(), now.step

        def check() -> None:
            if stopping() and not self.processes.several:
                checkpoint()
                raise Stopped

        while not now.done:
            check()
            while now.batch < len(self.batches):
                loss, stop = self.step(stopping())
                if watch is not None:
                    watch.step(now, len(self.batches), loss)
                due = train.checkpoint_steps and now.step - saved_step >= train.checkpoint_steps
                if stop or due or time.monotonic() - saved_at >= train.checkpoint_seconds:
                    checkpoint()
                if stop:
                    raise Stopped
            row = self._finish_epoch(check)
            now.seconds = row["seconds"] = time.monotonic() - began
            if watch is not None:
                watch.epoch(row)
        checkpoint()
        if self.best:
            self.model.load_state_dict(self.best)

    def step(self, stopping: bool = False) -> tuple[float, bool]:
        """One batch: forward, backward, a step of the optimiser. The mean loss, and whether any process is to stop."""
        now, train, share = self.now, self.config.train, self.processes
        rate = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = self.batches[now.batch]
        self.gradient.zero_()
        total, count = self._loss(self.run, batch, now.step)
        numbers = share.sum(torch.stack([total.detach().double(), count.double(), count.new_tensor(float(stopping))]))
        (total / numbers[1].clamp(min=1)).backward()  # type: ignore[no-untyped-call]
        norm = share.sum(self.gradient).norm()
        numbers = torch.cat([numbers, norm.double()[None]])
        self.told.append(Told.of(numbers, batch, now, len(self.batches)))
        ended = self.read(behind=self.behind)
        # the optimiser divides by the one, and under the other leaves the weights as they are
        self.optimizer.grad_scale = (norm / train.clip).clamp(min=1) if train.clip else None  # type: ignore[attr-defined]
        self.optimizer.found_inf = (~numbers.isfinite().all()).float() if self.behind else None  # type: ignore[attr-defined]
        self.optimizer.step()
        if self.average is not None:
            self.averaged.lerp_(self.weights.detach(), 1 - train.average)
            for mine, new in zip(self.average.buffers(), self.model.buffers(), strict=True):
                mine.copy_(new)  # what is no weight
        now.step += 1
        now.batch += 1
        return ended

    def read(self, *, behind: bool = False) -> tuple[float, bool]:
        """Take in what steps have told, the last one left if `behind`: the last loss, and whether to stop.

        What is not finite ends the run.
        """
        now, stop = self.now, False
        while len(self.told) > (behind and math.isfinite(self.loss)):
            told = self.told.pop(0)
            total, answers, stopping, size = told.read()
            if not (math.isfinite(total) and math.isfinite(size)):
                raise finite.NotFinite(self._diagnosis(told, total))
            now.loss += total
            now.answers += int(answers)
            self.loss, stop = total / max(answers, 1), stop or stopping > 0
        return self.loss, stop

    def rate(self) -> float:
        """The learning rate of the coming step: a linear rise, then a cosine down to 0."""
        train = self.config.train
        steps = train.epochs * len(self.batches)
        rise = max(1.0, train.warmup * steps)
        done = self.now.step
        return train.learning_rate * min(1.0, (done + 1) / rise) * 0.5 * (1 + math.cos(math.pi * done / steps))

    def new_epoch(self) -> Batches:
        """The batches of the epoch that is to come."""
        train = self.config.train
        return self.task.epoch(self.now.epoch, train.batch_size, seed=self.config.seed, share=self.processes.share)

    def _loss(self, model: nn.Module, batch: Batch, step: int) -> tuple[Tensor, Tensor]:
        """The sum of the losses of a batch's known answers, and their number."""
        if batch.y is None or not len(batch.rows):  # this process has no share in the batch
            nothing = self.weights.sum() * 0
            return nothing, nothing.detach()
        train, seed = self.config.train, self.config.seed
        reseed(word(seed, STEP + step), self.task.device)
        with torch.autocast(self.task.device.type, torch.bfloat16, enabled=train.precision == "bfloat16"):
            out = answer(model, batch, seed=seed, draw=step)
        return self.task.answer.loss(out, batch.y, train.squared)

    def _finish_epoch(self, check: Callable[[], None]) -> Row:
        self.read()
        now, train = self.now, self.config.train
        valid = None
        last = now.epoch + 1 == train.epochs
        if last or (now.epoch + 1) % train.evaluate_every == 0:
            model = self.average if self.average is not None else self.model
            answers = self._answers(model, check)
            if not answers.isfinite().all():
                raise finite.NotFinite(f"step {now.step}: answers to the valid part are not finite. {self._mend()}")
            valid = self.task.score("valid", answers)
            if self.task.metric.better(valid, now.best):
                now.best, now.best_epoch = valid, now.epoch + 1
                self.best = {name: one.clone() for name, one in model.state_dict().items()}
        row: Row = {
            "epoch": now.epoch + 1,
            "step": now.step,
            "seconds": now.seconds,
            "learning_rate": self.rate(),
            "loss": now.loss / max(now.answers, 1),
            "valid": valid,
            "best": now.best,
        }
        now.history.append(row)
        now.epoch, now.batch, now.loss, now.answers = now.epoch + 1, 0, 0.0, 0
        now.done = last or 0 < train.patience <= now.epoch - now.best_epoch
        if not now.done:
            self.batches = self.new_epoch()
        return row

    def _answers(self, model: nn.Module, check: Callable[[], None]) -> Tensor:
        return one_draw(
            model, self.task, self.valid, seed=self.config.seed, draw=0, processes=self.processes, check=check
        )

    def _check_weights(self) -> None:
        for name, one in self.model.named_parameters():
            if not one.isfinite().all():
                raise finite.NotFinite(
                    f"step {self.now.step}: the weights {name} are no longer finite, so no checkpoint is made of them. "
                    f"{self._mend()}"
                )

    def _diagnosis(self, told: Told, loss: float) -> str:
        batch = told.batch
        graphs = batch.inputs.graph_id[:5].tolist()
        more = ", …" * (batch.inputs.size > len(graphs))
        where = f"{told.place}, graph(s) {', '.join(map(str, graphs))}{more})"
        layer = finite.first_layer(self.model, lambda: self._loss(self.model, batch, told.step))
        if layer is not None:
            what = f"the loss is {loss}, and the first layer whose output is not finite is {layer}"
        elif not math.isfinite(loss):
            what = f"the loss is {loss}, though all layers are finite: look at the labels of this batch"
        else:
            what = f"the gradient of {finite.last_gradient(self.model) or 'the model'} is not finite"
        return f"{where}: {what}. {self._mend()}"

    def _mend(self) -> str:
        train = self.config.train
        hint = "" if train.clip else ", or clip gradients with --train.clip 1"
        return (
            "Training has stopped, and the last checkpoint before is kept: start anew with a lower "
            f"--train.learning_rate (it is {train.learning_rate:g}){hint}"
        )

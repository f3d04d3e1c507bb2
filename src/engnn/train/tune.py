"""Search for settings: trials of one study, in one file that any number of processes work on at the same time.

The study is a file of events, one JSON line each, only ever added to: its settings, then of every trial its start, its
epochs and its end. Who works on a trial holds the lock of that trial, which the system lets go of when the process
ends, however it ends: a trial that has begun, has not ended and is not locked is one whose process died, and the next
worker goes on with it from its checkpoint. So no trial is lost and none is counted twice. Optuna only proposes
settings, from a study in memory that is made of these events each time.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import signal
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import torch

from engnn.data.dataset import Dataset
from engnn.data.draws import Draws
from engnn.errors import InputError, Stopped
from engnn.tasks import task_of
from engnn.tasks.metrics import Metric, Score
from engnn.tasks.task import Task
from engnn.train import durable, options
from engnn.train.config import Config
from engnn.train.finite import NotFinite
from engnn.train.loop import Progress, Row
from engnn.train.models import arguments
from engnn.train.run import opened, train

FORMAT = 1
PROPOSALS = 6 << 40  # a stream of random words; see `engnn.tasks.task`
TRIES = 3  # processes that a trial may cost without a new epoch
COMPARED = 5  # trials that are complete before any is pruned
Sampler = Literal["random", "tpe"]


class Range(NamedTuple):
    """What a setting may be: in steps; or, where `step` is 0, any number, evenly over the orders of magnitude."""

    low: float
    high: float
    step: int = 0


RANGES: Final = {  # the paper's, appendix "Experimental Details"; widths in steps that processors like
    "model.layers": Range(2, 10, 1),
    "model.hidden": Range(32, 128, 8),
    "model.noise_channels": Range(16, 64, 8),
    "model.noise_dim": Range(16, 64, 8),
    "train.learning_rate": Range(1e-4, 1e-2),
    "train.weight_decay": Range(1e-6, 1e-1),
}


@dataclass
class Trial:
    """One choice of settings, and how it went."""

    number: int
    params: dict[str, Any]
    valid: dict[int, float] = field(default_factory=dict)  # the validation score after each epoch
    tries: int = 1  # processes since the last sign of life
    end: dict[str, Any] | None = None

    @property
    def state(self) -> str:
        """`running` (or interrupted), `complete`, `pruned` or `failed`."""
        return "running" if self.end is None else str(self.end["state"])

    @property
    def value(self) -> float | None:
        """The validation score, averaged over the run's draws, of a trial that is complete."""
        return None if self.end is None else self.end["value"]


class Study:
    """The file, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials: list[Trial] = []
        self._read = 0
        try:
            with path.open("rb") as file:
                self.about: dict[str, Any] = json.loads(file.readline())["study"]
            if self.about["format"] != FORMAT:
                raise InputError(f"{path} is of format {self.about['format']}, and this engnn reads {FORMAT}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is no study ({error}): give another --study") from error
        self.ranges = {name: Range(*said) for name, said in self.about["ranges"].items()}
        self.refresh()

    @classmethod
    def open(cls, path: Path, config: Config, task: Task, *, sampler: Sampler, fixed: set[str], resume: bool) -> Study:
        """Begin a study of what is not `fixed`, or see that the one in the file is this one."""
        if path.suffix != ".jsonl":
            raise InputError(f"{path}: a study is a file of JSON lines: give a name that ends with .jsonl")
        about: dict[str, Any] = {
            "format": FORMAT,
            "settings": _flat(config),
            "ranges": {name: list(one) for name, one in searched(config, task).items() if name not in fixed},
            "sampler": sampler,
            "metric": task.metric.name,
            "higher_is_better": task.metric.higher_is_better,
        }
        if not about["ranges"]:
            raise InputError("all settings that could be searched are fixed by this call: leave one out, or train")
        content = json.dumps({"study": about}).encode() + b"\n"
        with durable.storage(path, len(content)):
            path.with_suffix("").mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix("") / "claim.lock"):
            if not path.exists():
                durable.write(path, content)
            elif not resume:
                raise InputError(f"{path} holds a study already: go on with it by --resume, or give another --study")
        study = cls(path)
        for name, now in {**about.pop("settings"), **about}.items():
            before = {**study.about["settings"], **study.about}[name]
            if before != now:
                raise InputError(
                    f"{path}: {name} was {before!r} and is {now!r} now: to go on with a study, call it as at first "
                    "(--trials and --workers may differ); to begin another, give another --study"
                )
        return study

    @property
    def recipe(self) -> Path:
        """Where the best trial's configuration is written."""
        return self.path.with_suffix(".best.yaml")

    def run(self, trial: Trial) -> Path:
        """The folder of a trial's run, which is there until the trial has ended."""
        return self.path.with_suffix("") / f"{trial.number:04}"

    def config(self, trial: Trial) -> Config:
        """What a trial trains."""
        return options.make_config(self.about["settings"], trial.params)

    def best(self) -> Trial | None:
        """The complete trial with the best validation score; of equals, the earliest."""
        found = [trial for trial in self.trials if trial.state == "complete"]
        sign = 1 if self.about["higher_is_better"] else -1
        return max(found, key=lambda trial: sign * (trial.value or 0.0), default=None)

    def clean(self) -> None:
        """Remove the runs of trials that have ended: the best recipe, trained, gives the same model again."""
        for trial in self.trials:
            if trial.end is not None and self.run(trial).exists():
                shutil.rmtree(self.run(trial), ignore_errors=True)  # another worker may be doing so

    def refresh(self) -> None:
        """Read what has been added. A line that a dying process left unfinished says nothing."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            lines = file.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._read += len(line)
            try:
                event = json.loads(line)
            except ValueError:
                continue
            try:
                if "study" not in event:
                    self._note(event)
            except (KeyError, IndexError, TypeError) as error:
                raise InputError(f"{self.path}: {line[:80]!r} is no event of a study: give another --study") from error

    def add(self, trial: int, event: str, **what: object) -> None:
        """Put an event into the file."""
        durable.append_line(self.path, json.dumps({"trial": trial, "event": event, **what}, allow_nan=False))
        self.refresh()

    @contextmanager
    def claim(self, wanted: int) -> Iterator[Trial | None]:
        """A trial to work on, which nobody else then works on: one whose process died, else a new one of `wanted`."""
        with locked(self._lock("claim")):
            self.refresh()
            trial, lock = self._orphan() or self._new(wanted) or (None, None)
        try:
            yield trial
        finally:
            if lock is not None:
                os.close(lock)

    def _orphan(self) -> tuple[Trial, int] | None:
        for trial in [trial for trial in self.trials if trial.end is None]:
            if (lock := try_lock(self._lock(f"{trial.number:04}"))) is None:
                continue
            self.refresh()  # it may have ended before its lock was free
            if trial.end is None and trial.tries < TRIES:
                self.add(trial.number, "again")
                return trial, lock
            if trial.end is None:
                why = f"its process ended {TRIES} times without a new epoch: it may need more memory than there is"
                self.add(trial.number, "end", state="failed", value=None, why=why)
            os.close(lock)
        return None

    def _new(self, wanted: int) -> tuple[Trial, int] | None:
        number = len(self.trials)
        if number >= wanted:
            return None
        lock = try_lock(self._lock(f"{number:04}"))
        if lock is None:
            raise InputError(f"{self._lock(f'{number:04}')} is locked by something else than this study: end that")
        self.add(number, "start", params=propose(self))
        return self.trials[number], lock

    def _lock(self, name: str) -> Path:
        return self.path.with_suffix("") / f"{name}.lock"

    def _note(self, event: dict[str, Any]) -> None:
        number = event["trial"]
        if event["event"] == "start" and number == len(self.trials):
            self.trials.append(Trial(number, event["params"]))
            return
        trial = self.trials[number]
        match event["event"]:
            case "start":  # the line of the first one was cut off, and closed only by this one
                trial.params = event["params"]
            case "again":
                trial.tries += 1
            case "stopped":
                trial.tries = 0
            case "epoch":
                trial.tries = 0
                trial.valid[event["epoch"]] = event["valid"]
            case "end" if trial.end is None:
                trial.end = event


class Pruned(Exception):
    """The trial will not be among the best."""


class _Watch:
    """Puts each epoch into the study, and ends the trial when others were better by then."""

    def __init__(self, study: Study, trial: Trial, metric: Metric, prune: bool) -> None:
        self.study, self.trial, self.metric, self.prune = study, trial, metric, prune
        self.warmup = study.config(trial).train.epochs // 5
        self.parent = os.getppid()

    def step(self, now: Progress, batches: int, loss: float) -> None:
        if os.getppid() != self.parent:  # who started this worker was killed: stop as by a signal
            os.kill(os.getpid(), signal.SIGTERM)

    def epoch(self, row: Row) -> None:
        self.study.add(self.trial.number, "epoch", epoch=row["epoch"], valid=row["valid"])
        others = [one.valid for one in self.study.trials if one.state == "complete"]
        if self.prune and row["epoch"] > self.warmup and hopeless(self.trial.valid, others, row["epoch"], self.metric):
            raise Pruned


def hopeless(mine: Mapping[int, Score], others: Sequence[Mapping[int, Score]], epoch: int, metric: Metric) -> bool:
    """Whether the best score so far is worse than the median of the others' scores after the same epoch.

    >>> from engnn.tasks.metrics import metric
    >>> accuracy, others = metric("accuracy"), [{1: 0.5}, {1: 0.6}, {1: 0.6}, {1: 0.6}, {1: 0.7}]
    >>> hopeless({1: 0.55}, others, 1, accuracy), hopeless({1: 0.65}, others, 1, accuracy)
    (True, False)
    """
    theirs = [score for one in others if (score := one.get(epoch)) is not None]
    if len(theirs) < COMPARED:
        return False
    best = None
    for score in mine.values():
        best = score if metric.better(score, best) else best
    return metric.better(statistics.median(theirs), best)


def work(path: Path, trials: int, *, prune: bool = True) -> None:
    """Work on a study until nothing is left to begin; several processes may do so at once."""
    study = Study(path)
    dataset = opened(options.make_config(study.about["settings"]))
    while True:
        with study.claim(trials) as trial:
            if trial is None:
                break
            study.add(trial.number, "end", **_run(study, trial, dataset, prune))
            study.clean()
    study.clean()


def _run(study: Study, trial: Trial, dataset: Dataset, prune: bool) -> dict[str, Any]:
    """How a trial ends."""
    config = study.config(trial)
    watch = _Watch(study, trial, task_of(dataset, metric=config.metric).metric, prune)
    try:
        said = train(config, dataset, study.run(trial), resume=True, watch=watch, parts=("valid",))
    except Pruned:
        return {"state": "pruned", "value": None, "why": "others were better by then"}
    except (NotFinite, torch.OutOfMemoryError) as error:
        return {"state": "failed", "value": None, "why": str(error)}
    except Stopped:
        study.add(trial.number, "stopped")
        raise
    value = said["scores"]["valid"]
    if value is None or not math.isfinite(value):
        return {"state": "failed", "value": None, "why": f"its validation score is {value}"}
    return {"state": "complete", "value": value, "why": "", "seconds": said["seconds"]}


def searched(config: Config, task: Task) -> dict[str, Range]:
    """Those of the ranges that make a difference to this model."""

    def matters(name: str, one: Range) -> bool:
        low, high = (options.make_config(_flat(config), {name: end}) for end in (one.low, one.high))
        return name.startswith("train.") or arguments(low.model, task) != arguments(high.model, task)

    return {name: one for name, one in RANGES.items() if matters(name, one)}


def propose(study: Study) -> dict[str, Any]:
    """The settings of the next trial: Optuna's proposal, which the seed and the trials so far decide."""
    import optuna
    from optuna.distributions import FloatDistribution, IntDistribution
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    states = {
        "running": TrialState.RUNNING,
        "complete": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED,
        "failed": TrialState.FAIL,
    }
    space = {
        name: IntDistribution(int(one.low), int(one.high), step=one.step)
        if one.step
        else FloatDistribution(one.low, one.high, log=True)
        for name, one in study.ranges.items()
    }
    seed = Draws(study.about["settings"]["seed"], PROPOSALS + len(study.trials)).one(1 << 32)
    if study.about["sampler"] == "random":
        sampler: optuna.samplers.BaseSampler = optuna.samplers.RandomSampler(seed=seed)
    else:
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)  # workers keep away from one another
    direction = "maximize" if study.about["higher_is_better"] else "minimize"
    memory = optuna.create_study(direction=direction, sampler=sampler)
    for trial in study.trials:
        known = {epoch: score for epoch, score in trial.valid.items() if score is not None}
        memory.add_trial(
            create_trial(
                state=states[trial.state],
                value=trial.value,
                params=trial.params,
                distributions=space,
                intermediate_values=known,
            )
        )
    return dict(memory.ask(space).params)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for a lock, and hold it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def try_lock(path: Path) -> int | None:
    """A lock that is held until what is returned is closed, or the process ends; None where another holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _flat(config: Config) -> dict[str, Any]:
    """A configuration's settings by dotted names."""
    return options.parse_recipe(options.written(config), "this call")


if __name__ == "__main__":  # one worker: python -m engnn.train.tune STUDY TRIALS PRUNE
    try:
        work(Path(sys.argv[1]), int(sys.argv[2]), prune=sys.argv[3] == "True")
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except Stopped:
        sys.exit(3)

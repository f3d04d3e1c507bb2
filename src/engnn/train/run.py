"""A run: a folder that is begun, gone on with after any interruption, and finished with a model, scores, a record."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from engnn.data.catalog import is_path, open_dataset
from engnn.data.dataset import PARTS, Dataset
from engnn.data.splits import split_parts
from engnn.errors import InputError, Stopped
from engnn.tasks import task_of
from engnn.train import checkpoint, durable, options, trained
from engnn.train.answers import mean_answers
from engnn.train.config import Config
from engnn.train.loop import Training, Watch
from engnn.train.processes import Processes
from engnn.train.record import record

CONFIG, SPLIT, METRICS, RECORD, PREDICTIONS, CHECKPOINT = (
    "config.yaml",
    "split.safetensors",
    "metrics.jsonl",
    "record.json",
    "predictions.csv",
    "checkpoint",
)


def opened(config: Config) -> Dataset:
    """The dataset that a configuration names."""
    if not config.data:
        raise InputError("there are no data to train on: give a dataset's name, or a path to your own files")
    return open_dataset(config.data, task=config.task or None, split=config.split, seed=config.seed)


def settled(config: Config, dataset: Dataset) -> Config:
    """The same configuration with what the dataset decides written down, so that it says all by itself."""
    data = str(Path(config.data).absolute()) if is_path(config.data) else config.data
    return replace(config, data=data, task=dataset.task, metric=config.metric or dataset.metric)


def train(
    config: Config,
    dataset: Dataset,
    folder: Path | None = None,
    *,
    resume: bool = False,
    watch: Watch | None = None,
    processes: Processes | None = None,
    parts: Sequence[str] = PARTS,
    enough: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Train, score `parts`, and write the run into `folder`; the record of it.

    With `resume` it goes on from what the folder holds. A run that was stopped, by a signal or because `enough` says
    so, raises `Stopped`.

    Without a folder nothing is written, no signal is caught, and the record comes back. `watch.epoch(row)` is called
    after each epoch with that line of `metrics.jsonl` (`row["epoch"]`, `row["valid"]`, `row["best"]`, …), so it is the
    place to prune: what it raises ends the run and comes through as it is. Of a search, give `parts=("valid",)`: the
    test part is then never looked at. A loss, gradient or answer that is not finite raises `NotFinite` (an
    `InputError`).
    """
    processes = processes or Processes()
    config = settled(config, dataset)
    device = processes.device(config.train.device)
    deterministic(config.train.deterministic)
    task = task_of(dataset, metric=config.metric, device=device)
    task.check()
    training = Training(task, config, processes)
    if folder is None:
        training.fit(watch=watch)
        return _finish(training, parts)
    if processes.first:
        begin(folder, config, resume=resume)
        keep_split(folder, dataset)
    processes.wait()
    with locked(folder, processes), stopping() as signalled:

        def asked() -> bool:
            return signalled() or enough()

        done = _read_record(folder) if resume else None
        if done is not None:
            return done
        if (found := checkpoint.load(folder / CHECKPOINT)) is not None:
            training.restore(*found)
        processes.wait()
        rows = Rows(folder / METRICS, training.now.history, watch) if processes.first else None

        def save() -> None:
            if processes.first:
                checkpoint.save(folder / CHECKPOINT, *training.state())

        def check() -> None:
            if asked() and not processes.several:
                raise Stopped

        training.fit(save=save, watch=rows, stopping=asked)
        said = _finish(training, parts, folder, check)
        processes.wait()
        return said


def deterministic(wanted: bool) -> None:
    """Have torch keep to operations that do not differ between two runs, and refuse those that do; or allow all."""
    if wanted:  # cuBLAS is deterministic with it alone, and reads it at its first product
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(wanted)


def begin(folder: Path, config: Config, *, resume: bool) -> None:
    """Make the folder ready for a run, or see that the run in it is this one."""
    path = folder / CONFIG
    with durable.storage(folder, len(options.written(config))):
        begun = path.exists()
        other = not begun and folder.exists() and not (folder.is_dir() and all(map(_ours, folder.iterdir())))
    if begun:
        if not resume:
            raise InputError(f"{folder} holds a run already: go on with it by --resume, or give another --out")
        before = options.read_recipe(path)
        now = options.parse_recipe(options.written(config), "this call")
        if changed := [name for name in now if before.get(name) != now[name]]:
            name = changed[0]
            raise InputError(
                f"{folder}: {name} was {before.get(name)!r} and is {now[name]!r} now: to go on with a run, call it as "
                "at first; to start another, give another --out"
            )
        return
    if other:
        raise InputError(f"{folder} is there already and holds something else: give another --out")
    with durable.storage(folder, len(options.written(config))):
        folder.mkdir(parents=True, exist_ok=True)
    durable.write(path, options.written(config).encode())


def keep_split(folder: Path, dataset: Dataset) -> None:
    """Write down who is learnt from and who is tested on, or see that they are those with whom the run began."""
    path, now = folder / SPLIT, checkpoint.packed(split_parts(dataset))
    if not path.exists():
        durable.write(path, now)
    elif path.read_bytes() != now:
        raise InputError(
            f"{path}: the data or their split are not those that the run began with, so that what was learnt from may "
            "now be tested on: put the data back as they were, or train anew"
        )


def new_folder(parent: Path, name: str, *, resume: bool) -> Path:
    """The first of `name`, `name-2`, `name-3`, … that is not there; with `resume` the last that is."""
    number = 1
    while (parent / _numbered(name, number)).exists():
        number += 1
    return parent / _numbered(name, max(1, number - resume))


@contextmanager
def locked(folder: Path, processes: Processes) -> Iterator[None]:
    """Let nobody else work on the run."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        if processes.first:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{folder}: another process is working on this run: wait for it, or end it") from error
        yield
    finally:
        os.close(handle)


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM or SIGINT came since; a second one ends the process at once."""
    asked = False

    def note(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Rows:
    """The lines of `metrics.jsonl`: those of the checkpoint again, then one an epoch."""

    def __init__(self, path: Path, history: list[dict[str, Any]], watch: Watch | None) -> None:
        self.path, self.watch = path, watch
        durable.write(path, "".join(json.dumps(row) + "\n" for row in history).encode())

    def step(self, now: Any, batches: int, loss: float) -> None:
        if self.watch is not None:
            self.watch.step(now, batches, loss)

    def epoch(self, row: dict[str, Any]) -> None:
        text = json.dumps(row, allow_nan=False) + "\n"
        with durable.storage(self.path, len(text)), self.path.open("a") as file:
            file.write(text)
        if self.watch is not None:
            self.watch.epoch(row)


def _finish(
    training: Training, parts: Sequence[str], folder: Path | None = None, check: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Score the chosen weights on some parts, averaged over the run's draws; write model, answers and record."""
    task, config = training.task, training.config
    answers = {
        part: mean_answers(
            training.model,
            task,
            part,
            size=config.train.batch_size,
            seed=config.seed,
            draws=config.draws,
            processes=training.processes,
            check=check,
        )
        for part in parts
        if task.has(part)
    }
    said = record(training, {part: task.score(part, mean.mean) for part, mean in answers.items()})
    if folder is not None and training.processes.first:
        trained.save(folder, training)
        if "test" in answers:
            trained.predictions(task, "test", answers["test"]).to_csv(folder / PREDICTIONS)
        durable.write_json(folder / RECORD, said)
    return said


def _read_record(folder: Path) -> dict[str, Any] | None:
    """The record of a run that is complete."""
    try:
        return dict(json.loads((folder / RECORD).read_text()))
    except (FileNotFoundError, ValueError):
        return None


def _ours(path: Path) -> bool:
    """Whether a file may be what a run left that was killed before it had begun."""
    return path.name.endswith(durable.TEMPORARY)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"

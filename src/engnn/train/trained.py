"""A trained model: its two files, and its answers to new data. Nothing that is read is executed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from engnn.data import own
from engnn.data.catalog import open_dataset
from engnn.data.dataset import Dataset
from engnn.errors import InputError
from engnn.tasks import task_of
from engnn.tasks.answer import Answer, described, from_description
from engnn.tasks.calibration import entropy
from engnn.tasks.task import EVERYTHING, Task
from engnn.train import durable, models
from engnn.train.answers import Mean, mean_answers
from engnn.train.checkpoint import packed, unpacked
from engnn.train.loop import Training
from engnn.train.processes import Processes
from engnn.train.record import versions

WEIGHTS, ABOUT = "model.safetensors", "model.json"
FORMAT = 1  # raised when what is written below changes


@dataclass(frozen=True)
class Predictions:
    """The answers to some targets: probabilities of classes or of yes, or values.

    `ids` are the names of the targets (`id`; of links `source` and `target`); `mean` and `spread` `[T, K]` are over
    the draws of the noise; `names` are those of the K classes or outputs; `entropy` `[T]` is in nats; `truth` is there
    where it is known.
    """

    kind: str
    ids: dict[str, list[str]]
    names: tuple[str, ...]
    mean: Tensor
    spread: Tensor
    entropy: Tensor | None
    truth: Tensor | None
    draws: int

    @property
    def labels(self) -> list[str]:
        """The name of the likeliest class of each target."""
        if self.kind != "class":
            raise InputError(f"answers of kind {self.kind!r} are no classes: use mean")
        return [self.names[place] for place in self.mean.argmax(1).tolist()]

    def columns(self) -> dict[str, list[Any]]:
        """The answers as columns of plain values, in the order in which they are written; None where unknown."""
        found: dict[str, list[Any]] = dict(self.ids)
        mean, spread = self.mean.T.tolist(), self.spread.T.tolist()
        if self.kind == "class":
            if self.truth is not None:
                found["label"] = [self.names[place] if place >= 0 else None for place in self.truth.tolist()]
            found["prediction"] = list(self.labels)
        elif self.truth is not None:
            known = self.truth.T.tolist()
            for name, column in zip(self.names, known, strict=True):
                found[f"label:{name}"] = [None if v != v else int(v) if self.kind == "binary" else v for v in column]
        prefix = "" if self.kind == "value" else "p:"
        found |= {f"{prefix}{name}": column for name, column in zip(self.names, mean, strict=True)}
        found |= {f"spread:{name}": column for name, column in zip(self.names, spread, strict=True)}
        if self.entropy is not None:
            found["entropy"] = self.entropy.tolist()
        return found

    def to_csv(self, path: str | Path) -> None:
        """Write one line a target."""
        columns = self.columns()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        durable.write(Path(path), text.getvalue().encode())


class Trained:
    """A trained model with all that it takes to ask it about new data."""

    def __init__(self, model: nn.Module, about: dict[str, Any], answer: Answer) -> None:
        self.model, self.about, self.answer = model.eval(), about, answer

    def predict(self, data: str | Path | Dataset, *, draws: int | None = None) -> Predictions:
        """Answers to every target in `data`: your own files, a dataset's name, or one of the `engnn.data.own` datasets.

        Features are made as they were for the training; `draws` of the noise are averaged (by default as many as the
        run's configuration says).
        """
        task = self.task(data if isinstance(data, Dataset) else self.open(data))
        mean = mean_answers(
            self.model,
            task,
            EVERYTHING,
            size=self.about["batch_size"],
            seed=self.about["seed"],
            draws=draws or self.about["draws"],
        )
        return predictions(task, EVERYTHING, mean)

    def open(self, data: str | Path) -> Dataset:
        """Files or a named dataset, read as they must be for this model."""
        from engnn.data.catalog import is_path

        if is_path(data):
            return own.read(Path(data), scheme=self.about["scheme"])
        return open_dataset(data, task=self.about["task"], seed=self.about["seed"])

    def task(self, dataset: Dataset) -> Task:
        """The model's task on a dataset, which must have the features that it was trained with."""
        given = (dataset.graphs.in_channels, models.edge_dim(dataset.graphs))
        wanted = (self.about["in_channels"], self.about["edge_dim"])
        if dataset.task != self.about["task"]:
            raise InputError(
                f"{dataset.name} asks about a {dataset.task}, the model answers about a {self.about['task']}"
            )
        if given != wanted:
            raise InputError(
                f"{dataset.name} has {given[0]} node and {given[1]} edge features, but the model was trained with "
                f"{wanted[0]} and {wanted[1]}: give data made in the same way"
            )
        device = next(self.model.parameters()).device
        task = task_of(dataset, metric=self.about["metric"], device=device)
        if dataset.y is not None and dataset.task != "link" and task.answer.names != self.answer.names:
            raise InputError(
                f"{dataset.name} has the labels {', '.join(task.answer.names)}, but the model gives "
                f"{', '.join(self.answer.names)}"
            )
        task.answer = self.answer
        return task


def save(folder: Path, training: Training) -> None:
    """Write the model's two files."""
    task, config = training.task, training.config
    dataset = task.dataset
    weights = packed(training.model.state_dict())
    about = {
        "format": FORMAT,
        "model": config.model.name,
        "arguments": training.arguments,
        "sha256": hashlib.sha256(weights).hexdigest(),
        "dataset": dataset.name,
        "task": task.level,
        "metric": task.metric.name,
        "answer": described(task.answer),
        "in_channels": dataset.graphs.in_channels,
        "edge_dim": models.edge_dim(dataset.graphs),
        "scheme": dict(dataset.scheme) if dataset.scheme is not None else _plain_scheme(dataset),
        "noise": config.model.noise,
        "draws": config.draws,
        "seed": config.seed,
        "batch_size": config.train.batch_size,
        "versions": versions(),
    }
    durable.write(folder / WEIGHTS, weights)
    durable.write_json(folder / ABOUT, about)


def load(run: str | Path, *, device: str = "auto") -> Trained:
    """The trained model in a run's folder; on a CUDA device where there is one, unless `device` is `cpu`."""
    folder = Path(run)
    path = folder / ABOUT
    if not folder.is_dir():
        raise InputError(f"{folder} is not a run's folder: give the one that `engnn train` named at its end")
    if not path.exists():
        raise InputError(f"{folder} holds no trained model: the run is not complete; go on with it by --resume")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        weights = (folder / WEIGHTS).read_bytes()
        if about["format"] != FORMAT:
            raise InputError(f"{path} is of format {about['format']}, and this engnn reads {FORMAT}: take its version")
        answer = from_description(about["answer"])
        digest, name, said = about["sha256"], about["model"], dict(about["arguments"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{folder} holds no readable model ({error}): train it again") from error
    if hashlib.sha256(weights).hexdigest() != digest:
        raise InputError(f"{folder / WEIGHTS} is damaged (its checksum is wrong): train it again")
    model = models.build(name, said)
    try:
        model.load_state_dict(unpacked(weights, folder / WEIGHTS))
    except RuntimeError as error:
        raise InputError(f"{folder / WEIGHTS} does not fit {path} ({str(error)[:200]}): train it again") from error
    return Trained(model.to(Processes().device(device)), about, answer)


def predictions(task: Task, part: str, mean: Mean) -> Predictions:
    """The answers to a part of a task's targets."""
    return Predictions(
        task.answer.kind,
        task.ids(part),
        task.answer.names,
        mean.mean,
        mean.spread,
        entropy(mean.mean, task.answer.kind),
        task.truth(part),
        mean.draws,
    )


def _plain_scheme(dataset: Dataset) -> dict[str, Any]:
    """How own files may ask a model that was trained on a named dataset: features are blocks `x` and `edge_attr`."""

    def block(name: str, width: int) -> list[dict[str, Any]]:
        return [{"column": name, "kind": "block", "width": width}] if width else []

    return {
        "task": dataset.task,
        "nodes": block("x", dataset.graphs.in_channels),
        "edges": block("edge_attr", dataset.graphs.edge_dim),
        "weighted": dataset.graphs.edge_weight is not None,
        "classes": list(dataset.classes),
        "outputs": list(dataset.outputs),
    }

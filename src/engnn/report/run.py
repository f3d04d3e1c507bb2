"""A run folder, read and checked: its configuration, its epochs, its record and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engnn.errors import InputError
from engnn.report.answers import Classes, Values, YesNo, read_answers
from engnn.report.record import Record, finite, json_object, read_record, read_text


@dataclass(frozen=True)
class Epoch:
    """One line of `metrics.jsonl`; None where something is not defined or was not measured."""

    epoch: int
    seconds: float | None
    learning_rate: float | None
    loss: float | None
    valid: float | None


@dataclass(frozen=True)
class Run:
    """What a run folder holds; a run that has not ended has no record, and perhaps no answers."""

    name: str
    config: str  # as it is written
    epochs: list[Epoch]
    record: Record | None
    answers: Classes | Values | YesNo | None


def read_run(folder: Path) -> Run:
    """The run in `folder`."""
    config = folder / "config.yaml"
    if not config.is_file():
        raise InputError(f"{folder} is not the folder of a run: it has no config.yaml; give what `engnn train` wrote")
    record, answers = folder / "record.json", folder / "predictions.csv"
    return Run(
        name=folder.resolve().name,
        config=read_text(config),
        epochs=_epochs(folder / "metrics.jsonl"),
        record=read_record(record) if record.exists() else None,
        answers=read_answers(answers) if answers.exists() else None,
    )


def _epochs(path: Path) -> list[Epoch]:
    if not path.exists():
        raise InputError(f"there is no {path}: no epoch has ended; go on with `engnn train --resume`, then report")
    text = read_text(path)
    lines = text[: text.rfind("\n") + 1].split("\n")  # of a run that goes on, the last line may be half written
    epochs = [_epoch(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not epochs:
        raise InputError(f"{path} is empty: no epoch has ended; go on with `engnn train --resume`, then report")
    return epochs


def _epoch(line: str, place: str) -> Epoch:
    found = json_object(line, place)
    numbers: dict[str, float | None] = {}
    for key in ("epoch", "seconds", "learning_rate", "loss", "valid"):
        value = found.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise InputError(f"{place}: {key} is {value!r}, not a number: the file is damaged, train the run again")
        numbers[key] = finite(value)
    epoch = numbers.pop("epoch")
    if epoch is None or epoch < 1:
        raise InputError(f"{place}: the epoch is {found.get('epoch')!r}, not 1, 2, …: train the run again")
    return Epoch(int(epoch), **numbers)

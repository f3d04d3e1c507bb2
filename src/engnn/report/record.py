"""Records, one a run: read from `record.json` or `records/*.jsonl`, and grouped into mean ± spread over seeds."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engnn.errors import InputError

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Record:
    """One run's record, as far as a report speaks of it; `whole` is all of it."""

    dataset: str
    provenance: str
    task: str
    model: str
    variant: str
    config: dict[str, Any]
    seed: int
    metric: str
    higher_is_better: bool
    scores: dict[str, float | None]
    draws: int
    epochs: int
    seconds: float
    complete: bool
    whole: dict[str, Any]


_TYPES: dict[str, tuple[type, ...]] = {
    "dataset": (str,),
    "provenance": (str,),
    "task": (str,),
    "model": (str,),
    "variant": (str,),
    "config": (dict,),
    "seed": (int,),
    "metric": (str,),
    "higher_is_better": (bool,),
    "scores": (dict,),
    "draws": (int,),
    "epochs": (int,),
    "seconds": (int, float),
    "complete": (bool,),
}


def read_record(path: Path) -> Record:
    """The record in a run's `record.json`."""
    return _record(json_object(read_text(path), str(path)), str(path))


def read_records(path: Path) -> list[Record]:
    """The records in a `.jsonl` file, one a line."""
    lines = enumerate(read_text(path).split("\n"), 1)
    places = [(line, f"{path}, line {number}") for number, line in lines if line.strip()]
    if not places:
        raise InputError(f"{path} holds no record: each line is to be what `engnn train --json` prints, on one line")
    return [_record(json_object(line, place), place) for line, place in places]


def _record(found: dict[str, Any], place: str) -> Record:
    for key, types in _TYPES.items():
        if key not in found:
            raise InputError(f"{place}: the record has no {key!r}: write it as `engnn train` does, or leave it out")
        value = found[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InputError(f"{place}: {key} is {value!r}, not {types[-1].__name__}: write it as `engnn train` does")
    for part, score in found["scores"].items():
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            raise InputError(f"{place}: the score {part!r} is {score!r}, not a number: write it as `engnn train` does")
    scores = {part: finite(found["scores"].get(part)) for part in PARTS}
    return Record(**{**{key: found[key] for key in _TYPES}, "scores": scores}, whole=found)


@dataclass(frozen=True)
class Group:
    """Complete records that differ by seed alone; `setting` is what tells them from others of their cell."""

    one: Record  # of them, for what they share
    setting: str
    seeds: tuple[int, ...]
    scores: dict[str, list[float]]

    def mean(self, part: str) -> float | None:
        """The mean over seeds; None where a seed has no score, for a mean over the others would flatter."""
        scores = self.scores[part]
        return statistics.fmean(scores) if len(scores) == len(self.seeds) else None

    def deviation(self, part: str) -> float | None:
        """The standard deviation over seeds (n − 1 below); None for fewer than two."""
        scores = self.scores[part]
        return statistics.stdev(scores) if len(scores) == len(self.seeds) > 1 else None


def groups(records: Iterable[Record]) -> list[Group]:
    """Complete records by dataset and model; records of two configurations never share a mean.

    Of two records with the same configuration and seed the later one counts.
    """
    cells: dict[tuple[object, ...], dict[str, dict[int, Record]]] = {}
    for record in records:
        if record.complete:
            names = (record.dataset, record.provenance, record.task, record.model, record.variant)
            measure = (record.metric, record.higher_is_better, record.draws)
            setting = json.dumps(_settings(record.config), sort_keys=True)
            cells.setdefault((*names, *measure), {}).setdefault(setting, {})[record.seed] = record
    found = []
    for _, by_setting in sorted(cells.items()):
        settings = [json.loads(setting) for setting in by_setting]
        for setting, by_seed in zip(settings, by_setting.values(), strict=True):
            alike = list(by_seed.values())
            scores = {part: [score for one in alike if (score := one.scores[part]) is not None] for part in PARTS}
            found.append(Group(alike[0], _apart(setting, settings), tuple(sorted(by_seed)), scores))
    return found


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a configuration asks for, its seed and its place apart."""
    return {key: value for key, value in flat(config).items() if key.rsplit(".")[-1] not in ("seed", "out", "resume")}


def _apart(setting: dict[str, Any], settings: list[dict[str, Any]]) -> str:
    keys = sorted({key for one in settings for key in one})
    return ", ".join(
        f"{key}={setting.get(key)}" for key in keys if any(one.get(key) != setting.get(key) for one in settings)
    )


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted name.

    >>> flat({"model": {"layers": 4}, "seed": 0})
    {'model.layers': 4, 'seed': 0}
    """
    found: dict[str, Any] = {}
    for key, one in value.items():
        if isinstance(one, Mapping) and one:
            found |= flat(one, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = one
    return found


def finite(value: float | None) -> float | None:
    """A number that can be shown and drawn, or None for what is not defined."""
    return float(value) if value is not None and abs(value) < 1e300 and not math.isnan(value) else None


def read_text(path: Path) -> str:
    """A text file of a run, or the InputError that says why there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: give the folder of a run, or a file of records (.jsonl)") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}): it was not written by engnn") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None


def json_object(text: str, place: str) -> dict[str, Any]:
    """The JSON object in `text`."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{place} is not JSON ({error}): it is damaged, or was not written by engnn") from None
    except RecursionError:
        raise InputError(f"{place} is nested too deeply: it was not written by engnn") from None
    if not isinstance(found, dict):
        raise InputError(f"{place} is not a JSON object but {type(found).__name__}: it was not written by engnn")
    return found

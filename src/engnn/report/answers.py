"""A run's `predictions.csv`: the answers on the test part, with the truth where it is known."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engnn.errors import InputError

UNKNOWN = -1  # a class's place where the truth is not known
LARGEST = 1e300
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Classes:
    """One of k classes for each target."""

    names: list[str]
    truth: NDArray[np.int64]
    answer: NDArray[np.int64]
    confidence: Numbers  # the probability of the answer
    spread: Numbers  # of that probability over draws
    entropy: Numbers

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where the truth is known."""
        return np.not_equal(self.truth, UNKNOWN)


@dataclass(frozen=True)
class Output:
    """One number for each target: a value, or the probability of yes. The truth is NaN where it is not known."""

    name: str
    answer: Numbers
    spread: Numbers
    truth: Numbers

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where the truth is known."""
        return np.logical_not(np.isnan(self.truth))


@dataclass(frozen=True)
class Values:
    """Numbers for each target."""

    outputs: list[Output]


@dataclass(frozen=True)
class YesNo:
    """The probability of yes, for each target and output."""

    outputs: list[Output]


def read_answers(path: Path) -> Classes | Values | YesNo:
    """The answers in a `predictions.csv`, whichever of the three kinds they are."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = _Table(path, file)
            spread = [name.removeprefix("spread:") for name in table.header if name.startswith("spread:")]
            if "prediction" in table.columns and "entropy" in table.columns:
                return _classes(table, [name for name in spread if f"p:{name}" in table.columns])
            told = [name for name in spread if f"label:{name}" in table.columns]
            yes, values = ([name for name in told if f"{start}{name}" in table.columns] for start in ("p:", ""))
            if yes or values:  # an output may be called "p:a" beside one that is called "a": most columns decide
                return (
                    YesNo(_outputs(table, yes, "p:")) if len(yes) > len(values) else Values(_outputs(table, values, ""))
                )
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason}): it was not written by engnn") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
    raise InputError(f"{path} has no columns of answers (found {', '.join(table.header)}): train the run again")


class _Table:
    """The rows of a CSV file under a header, read one at a time."""

    def __init__(self, path: Path, lines: Iterator[str]) -> None:
        self.path = path
        self._rows = csv.reader(lines, strict=True)
        self.header = next(self._raw(), [])
        self.columns = {name: place for place, name in enumerate(self.header)}
        if len(self.columns) < len(self.header):
            twice = next(name for name in self.header if self.header.count(name) > 1)
            raise InputError(
                f"{path} has two columns {twice!r}: give the outputs names that cannot be taken for others"
            )

    def _raw(self) -> Iterator[list[str]]:
        try:
            yield from self._rows
        except csv.Error as error:
            raise InputError(f"{self.path}, line {self._rows.line_num}: {error}: train the run again") from None

    def rows(self) -> Iterator[list[str]]:
        """The rows, each as long as the header."""
        for row in self._raw():
            if len(row) != len(self.header):
                raise self.wrong(f"{len(row)} values under {len(self.header)} columns")
            yield row

    def number(self, row: list[str], column: int, *, low: float = -LARGEST, high: float = LARGEST) -> float:
        """The finite number in a column, within its bounds."""
        try:
            value = float(row[column])
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise self.wrong(f"{self.header[column]} is {row[column]!r}, which is not one of its numbers")
        return value

    def probability(self, row: list[str], column: int) -> float:
        """The probability in a column (which rounding may have put a hair outside 0…1)."""
        return min(max(self.number(row, column, low=-1e-6, high=1 + 1e-6), 0.0), 1.0)

    def wrong(self, what: str) -> InputError:
        """The error for the row that was read last."""
        return InputError(f"{self.path}, line {self._rows.line_num}: {what}: the file is damaged, train the run again")


def _classes(table: _Table, names: list[str]) -> Classes:
    place = {name: index for index, name in enumerate(names)}
    probability = [table.columns[f"p:{name}"] for name in names]
    spread = [table.columns[f"spread:{name}"] for name in names]
    label, prediction, entropy = (table.columns.get(name, -1) for name in ("label", "prediction", "entropy"))
    if label < 0:
        raise InputError(f"{table.path} has no column 'label': it is not the run's own, train the run again")
    whole, real = (array("q"), array("q")), (array("d"), array("d"), array("d"))
    for row in table.rows():
        if row[label] not in place and row[label]:
            raise table.wrong(f"the label {row[label]!r} is none of the classes")
        if row[prediction] not in place:
            raise table.wrong(f"the prediction {row[prediction]!r} is none of the classes")
        answer = place[row[prediction]]
        whole[0].append(place[row[label]] if row[label] else UNKNOWN)
        whole[1].append(answer)
        real[0].append(table.probability(row, probability[answer]))
        real[1].append(table.number(row, spread[answer], low=0.0))
        real[2].append(table.number(row, entropy, low=-1e-6))
    truth, answers = (np.frombuffer(one, np.int64) for one in whole)
    confidence, spreads, entropies = (np.frombuffer(one, np.float64) for one in real)
    return Classes(names, truth, answers, confidence, spreads, entropies)


def _outputs(table: _Table, names: list[str], prefix: str) -> list[Output]:
    columns = [[table.columns[f"{start}{name}"] for start in (prefix, "spread:", "label:")] for name in names]
    found = [(array("d"), array("d"), array("d")) for _ in names]
    for row in table.rows():
        for (answer, spread, label), (answers, spreads, truths) in zip(columns, found, strict=True):
            answers.append(table.probability(row, answer) if prefix else table.number(row, answer))
            spreads.append(table.number(row, spread, low=0.0))
            if not row[label]:
                truths.append(math.nan)
            else:
                truths.append(table.number(row, label, low=0, high=1) if prefix else table.number(row, label))
    return [
        Output(name, *(np.frombuffer(one, np.float64) for one in arrays))
        for name, arrays in zip(names, found, strict=True)
    ]

"""What a column of labels means, classes or values, and which part of the split each target is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data.columns import FEW, numbers, texts
from engnn.data.dataset import PARTS
from engnn.data.own.table import Table
from engnn.data.splits import Fractions, random_split
from engnn.errors import InputError, nearest

Bools = NDArray[np.bool_]
UNLABELLED: Final = -1  # the class of a target without one
PART_NAMES: Final = {name: name for name in PARTS} | {"val": "valid", "validation": "valid"}


@dataclass(frozen=True)
class Answers:
    """The labels of targets, and which of them have one."""

    y: Tensor
    known: Bools
    classes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    multilabel: bool = False
    notes: tuple[str, ...] = ()


def read_labels(table: Table, model: Mapping[str, Any] | None) -> Answers:
    """The column `label`: classes where it is text or whole numbers, values where there is a number that is not whole.

    `label:number` and `label:category` force the one and the other. Under the scheme of a `model` its classes hold.
    """
    values, forced = table.columns["label"], table.forced.get("label")
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _several(table, values)
    if model is not None:
        forced = "category" if model["classes"] else "number"
    found = numbers("label", values, table.place, forced)
    if found is not None and (forced == "number" or bool((found[~np.isnan(found)] % 1 != 0).any())):
        y = torch.from_numpy(found.astype(np.float32))[:, None]
        note = "labels are numbers to be estimated (regression); name the column 'label:category' for classes"
        return Answers(y, ~np.isnan(found), outputs=("label",), notes=(note,))
    written = texts(values)
    if model is not None:
        return _classes(table, written, tuple(model["classes"]))
    counts = Counter(filter(None, written))
    if found is None:
        order = sorted(counts)
    else:
        order = sorted(counts, key=float)
        _check_numbers(table, written, order)
    if len(order) > FEW and 2 * len(order) > counts.total():
        raise InputError(
            f"{table.name}: {counts.total()} labels are of {len(order)} classes, fewer than two each: to estimate them "
            "as numbers name the column 'label:number'; take it out if it is a name; classes need more targets each"
        )
    return _classes(table, written, tuple(order))


def read_split(
    table: Table, known: Bools, fractions: Fractions, seed: int
) -> tuple[dict[str, Tensor], str, tuple[str, ...]]:
    """The targets of each part, by the column `split` where there is one; what to call the split; and what was done."""
    taken = parts(table)
    if taken is None:
        try:
            split, notes = random_split(torch.from_numpy(np.flatnonzero(known)), fractions, seed=seed)
        except InputError as error:
            raise InputError(f"{table.name}: too few labels: {error}; label more") from error
        return split, "random", notes
    split = {part: torch.from_numpy(np.flatnonzero(mask & known)) for part, mask in taken.items()}
    for part, targets in split.items():
        if not len(targets):
            raise InputError(
                f"{table.name}: no labelled target is in {part!r} by the column 'split': train, valid and test need "
                "one each at the least; leave the whole column out to have a split drawn"
            )
    notes = ("split as the files say",)
    if unlabelled := sum(int((mask & ~known).sum()) for mask in taken.values()):
        notes += (f"{unlabelled} target(s) have a split but no label, so they are in no part",)
    return split, "own", notes


def parts(table: Table) -> dict[str, Bools] | None:
    """The rows of each part, by the column `split`; None where it is absent or blank throughout."""
    written = [name.casefold() for name in texts(table.columns.get("split", []))]
    if not any(written):
        return None
    for row, name in enumerate(written):
        if name and name not in PART_NAMES:
            raise InputError(
                f"{table.place(row)}: split {name!r} is not known; {nearest(name, PART_NAMES)}. Leave it blank where a "
                "target is in no part"
            )
    part = np.array([PART_NAMES.get(name, "") for name in written])
    return {name: part == name for name in PARTS}


def _classes(table: Table, written: list[str], classes: tuple[str, ...]) -> Answers:
    index = {name: number for number, name in enumerate(classes)} | {"": UNLABELLED}
    for row, name in enumerate(written):
        if name not in index:
            raise InputError(
                f"{table.place(row)}: label {name!r} is none of the classes that the model was trained with; "
                f"{nearest(name, classes)}"
            )
    y = torch.tensor([index[name] for name in written], dtype=torch.long)
    shown = ", ".join(f"{name!r} -> {number}" for number, name in enumerate(classes[:FEW]))
    notes = [f"classes: {shown}{', …' * (len(classes) > FEW)}"]
    if missing := int((y == UNLABELLED).sum()):
        notes.append(f"{missing} of {len(y)} targets have no label, so they are in no part")
    return Answers(y, (y != UNLABELLED).numpy(), classes=classes, notes=tuple(notes))


def _check_numbers(table: Table, written: list[str], order: list[str]) -> None:
    """Whole numbers as classes: one way of writing each, and none that elsewhere stands for 'no label'."""
    for one, other in pairwise(order):
        if float(one) == float(other):
            raise InputError(
                f"{table.place(written.index(other))}: labels {one!r} and {other!r} are the same number: write one of "
                "them throughout, or name the column 'label:category' to keep them apart"
            )
    for name in order:
        if float(name) < 0 and [float(label) for label in order] != [-1.0, 1.0]:
            raise InputError(
                f"{table.place(written.index(name))}: label {name} is negative, which often stands for 'no label': "
                "leave it blank (in arrays: leave the target out of all masks), or name the column 'label:category' "
                "to make it a class, 'label:number' to estimate a number"
            )


def _several(table: Table, values: NDArray[Any]) -> Answers:
    """A label of several numbers: yes/no answers where all are 0 or 1, else values to be estimated."""
    numbers = values.astype(np.float64)
    known: Bools = ~np.isnan(numbers)
    yes_no = bool(((numbers == 0) | (numbers == 1) | ~known).all())
    if values.dtype.kind in "iub" and not yes_no and values.shape[1] > 1:
        row = int(np.flatnonzero(((numbers != 0) & (numbers != 1)).any(axis=1))[0])
        raise InputError(
            f"{table.place(row)}: labels {values[row].tolist()!r:.80} are whole numbers in {values.shape[1]} columns: "
            "yes/no answers are 0 or 1; give values to be estimated as floats"
        )
    kind = "yes/no answers" if yes_no and values.shape[1] > 1 else "values to be estimated"
    return Answers(
        torch.from_numpy(numbers.astype(np.float32)),
        np.any(known, axis=1, keepdims=True)[:, 0],
        outputs=tuple(f"y{number}" for number in range(values.shape[1])),
        multilabel=kind == "yes/no answers",
        notes=(f"labels: {values.shape[1]} {kind} for each target",),
    )

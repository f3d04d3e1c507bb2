"""A user's table in memory: named columns, and where each row stands in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engnn.errors import InputError, nearest

Kind = Literal["nodes", "edges", "graphs", "links", "subgraphs"]
Values = list[str] | NDArray[Any]
"""A column: text, '' where missing; or numbers, NaN where missing; or the rows of a 2-D array, taken as they are."""

REQUIRED: dict[Kind, tuple[str, ...]] = {
    "nodes": ("id",),
    "edges": ("source", "target"),
    "graphs": ("graph",),
    "links": ("source", "target"),
    "subgraphs": ("id", "nodes"),
}
OPTIONAL: dict[Kind, tuple[str, ...]] = {
    "nodes": ("graph", "label", "split"),
    "edges": ("graph", "weight"),
    "graphs": ("label", "split"),
    "links": ("label", "split"),
    "subgraphs": ("label", "split"),
}
WITH_FEATURES = ("nodes", "edges")
FORCED = ("number", "category")


@dataclass(frozen=True)
class Table:
    """One table as read. `forced` says how a column must be read where its name was written `name:number`."""

    kind: Kind
    name: str  # as messages call it: a path, or a path and what in it
    rows: int
    columns: dict[str, Values]
    place: Callable[[int], str]  # row -> where it stands: "edges.csv, line 3"
    forced: Mapping[str, str]

    @property
    def features(self) -> dict[str, Values]:
        """The columns whose names have no meaning of their own."""
        return {name: values for name, values in self.columns.items() if name not in MEANT[self.kind]}

    def taken(self, rows: NDArray[np.int64]) -> Table:
        """These rows, in this order."""
        columns: dict[str, Values] = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]
            for name, values in self.columns.items()
        }
        return replace(self, rows=len(rows), columns=columns, place=lambda row: self.place(int(rows[row])))

    def text(self, column: str) -> list[str]:
        """A column of text, which every reader gives for those that hold ids."""
        values = self.columns[column]
        assert isinstance(values, list)
        return values


Tables = dict[Kind, Table]
MEANT = {kind: REQUIRED[kind] + OPTIONAL[kind] for kind in REQUIRED}


def make_table(
    kind: Kind, name: str, columns: Iterable[tuple[str, Values]], rows: int, place: Callable[[int], str]
) -> Table:
    """A table whose column names are checked: there, once each, none a slip of the pen for another.

    >>> columns = [("source", ["a"]), ("target", ["b"]), ("km:number", ["7"])]
    >>> table = make_table("edges", "edges.csv", columns, 1, lambda row: f"edges.csv, line {row + 2}")
    >>> sorted(table.columns), table.forced
    (['km', 'source', 'target'], {'km': 'number'})
    """
    found: dict[str, Values] = {}
    forced: dict[str, str] = {}
    for written, values in columns:
        if not written.strip():
            raise InputError(
                f"{name}: column {len(found) + 1} has no name: name it, or take it out (pandas: to_csv(…, index=False))"
            )
        column, colon, how = written.strip().rpartition(":")
        if not (colon and column and how in FORCED):
            column = written.strip()
        else:
            forced[column] = how
        if column in found:
            raise InputError(f"{name}: two columns are named {column!r}: rename one, or take it out")
        found[column] = values
    _check_names(kind, name, list(found))
    return Table(kind, name, rows, found, place, forced)


def _check_names(kind: Kind, name: str, found: list[str]) -> None:
    meant = MEANT[kind]
    for column in REQUIRED[kind]:
        if column not in found:
            raise InputError(
                f"{name} has no column {column!r}; {nearest(column, found)}. "
                f"The first line must name the columns: {', '.join(REQUIRED[kind])}, and any of {', '.join(meant)}"
                f"{' and features' if kind in WITH_FEATURES else ''}"
            )
    for column in found:
        if column in meant:
            continue
        slip = next((right for right in meant if _folded(column) == _folded(right)), None)
        if slip:
            raise InputError(
                f"{name}: column {column!r} would be taken for a feature; did you mean {slip!r}? Rename it"
            )
        if kind == "edges" and column in ("label", "split"):
            raise InputError(
                f"{name}: edges have no {column!r}: list the pairs to be predicted, with their {column}s, in links.csv "
                "beside it, or rename the column to make it a feature"
            )
        if kind not in WITH_FEATURES:
            raise InputError(f"{name}: column {column!r} is not known; {nearest(column, meant)}. Take it out")


def _folded(name: str) -> str:
    return name.casefold().rstrip("s")


def as_texts(values: Iterable[object], what: Callable[[int], str]) -> list[str]:
    """Single values of any source as a column of text: true and false in small letters, '' where there is none."""
    texts = []
    for row, value in enumerate(values):
        match value:
            case None:
                texts.append("")
            case bool() | np.bool_():
                texts.append("true" if value else "false")
            case str():
                texts.append(value)
            case int() | np.integer():
                texts.append(str(int(value)))
            case float() | np.floating():
                texts.append(repr(float(value)))
            case _:
                raise InputError(
                    f"{what(row)} is a {type(value).__name__}: give one number or one text, or take it out"
                )
    return texts

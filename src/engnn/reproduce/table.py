"""What a table is: rows (data), columns (models), what the paper prints, and in which order the runs are worth most."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import engnn.reproduce.tables
from engnn.errors import InputError, nearest

Settings = Mapping[str, Any]
Stopping = Callable[[], bool]
Said = dict[str, Any]


class Printed(NamedTuple):
    """A number as the paper prints it, in the paper's unit."""

    mean: float
    spread: float | None
    digits: int


Paper = Mapping[tuple[str, str], Printed]


class Run(NamedTuple):
    """One seed of one cell."""

    cell: Cell
    seed: int


Measure = Callable[[Run, Path, Stopping], Said]
More = Callable[[Mapping[str, Sequence[Said]]], Sequence[str]]  # from complete records, by the name of their cell


def trained(run: Run, folder: Path, stopping: Stopping) -> Said:
    """Train the cell's model on its data in `folder`, from where it was left; the record."""
    from engnn.reproduce.recipe import settings
    from engnn.train.options import make_config
    from engnn.train.run import opened, train

    config = make_config(settings(run))
    return train(config, opened(config), folder, resume=True, enough=stopping)


@dataclass(frozen=True, kw_only=True)
class Row:
    """Data, and how a cell on them is measured. In `settings`, `{seed}` stands for the run's seed."""

    name: str
    label: str = ""  # what the paper calls them
    settings: Settings = field(default_factory=dict)
    percent: bool = False  # the paper's unit; scores are fractions
    measure: Measure = trained
    recipe: bool = True  # whether it is trained by one, and not measured as it is
    seeds: int | None = None  # where fewer than the table's


@dataclass(frozen=True, kw_only=True)
class Column:
    """A model; `late` ones are run when all seeds of the others are done."""

    name: str
    label: str = ""
    settings: Settings = field(default_factory=dict)
    late: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: each of its cells is a row and a column.

    Those that decide come first in `rows` and in `columns`. What the paper prints is looked up by labels.
    """

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    seeds: int
    number: int | None = None  # of the paper's table
    label: str = ""  # of that table in the paper's source
    paper: Paper = field(default_factory=dict)
    spread: str = "standard deviation"  # what the paper's ± is
    notes: tuple[str, ...] = ()
    without: frozenset[tuple[str, str]] = frozenset()  # rows and columns that make no sense together
    more: More | None = None  # what its page says below the scores

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row by row."""
        pairs = ((row, column) for row in self.rows for column in self.columns)
        return tuple(Cell(self, *pair) for pair in pairs if (pair[0].name, pair[1].name) not in self.without)

    def chosen(self, patterns: list[str]) -> tuple[Cell, ...]:
        """The cells that any of the patterns names: `cora`, `cora/engnn`, `*/mpnn`; all where there is none."""
        found: dict[str, Cell] = {}
        for pattern in patterns or ["*"]:
            fits = {
                cell.name: cell
                for cell in self.cells
                if fnmatchcase(cell.name, pattern) or fnmatchcase(cell.row.name, pattern)
            }
            if not fits:
                names = [name for cell in self.cells for name in (cell.name, cell.row.name)]
                raise InputError(f"table {self.name} has no cell {pattern!r}; {nearest(pattern, set(names))}")
            found |= fits
        return tuple(cell for cell in self.cells if cell.name in found)

    def runs(self, cells: tuple[Cell, ...], seeds: int) -> Iterator[Run]:
        """The runs in the order in which they are worth most: seed by seed, each model on all data."""
        for late in (False, True):
            columns = [column for column in self.columns if column.late == late]
            for seed in range(seeds):
                for column in columns:
                    asked = (cell for cell in cells if cell.row.seeds is None or seed < cell.row.seeds)
                    yield from (Run(cell, seed) for cell in asked if cell.column is column)


class Cell(NamedTuple):
    """A place in a table."""

    table: Table
    row: Row
    column: Column

    @property
    def name(self) -> str:
        """Row and column, as `--cells` takes them."""
        return f"{self.row.name}/{self.column.name}"

    @property
    def seeds(self) -> int:
        """How many seeds are asked of it."""
        return self.row.seeds or self.table.seeds

    @property
    def printed(self) -> Printed | None:
        """What the paper prints there, if anything."""
        return self.table.paper.get((self.row.label, self.column.label))


def printed(text: str) -> dict[tuple[str, str], Printed]:
    """The numbers of a table as text: names of columns in the first line, then a line for each row.

    Columns are apart by two spaces; `-` is a number that the paper does not have.

    >>> printed('''
    ...         GCN         ENGNN
    ... Cora    87.14±1.01  -
    ... ''')
    {('Cora', 'GCN'): Printed(mean=87.14, spread=1.01, digits=2)}
    """
    head, *lines = [[word.strip() for word in line.split("  ") if word.strip()] for line in text.strip().splitlines()]
    found = {}
    for name, *words in lines:
        for column, word in zip(head, words, strict=True):
            if word != "-":
                mean, _, spread = word.partition("±")
                digits = len(mean.partition(".")[2])
                found[name, column] = Printed(float(mean), float(spread) if spread else None, digits)
    return found


def turned(paper: Paper) -> dict[tuple[str, str], Printed]:
    """The same numbers with rows for columns."""
    return {(column, row): number for (row, column), number in paper.items()}


def ours(**more: Settings) -> tuple[Column, ...]:
    """The columns of the model and of its two ablations, which are one code path."""
    variants = (("engnn", "ENGNN"), ("mpnn", "MPNN"), ("nmpnn", "NMPNN"))
    return tuple(
        Column(name=name, label=label, settings={"model.variant": name, **more.get(name, {})})
        for name, label in variants
    )


def peers(**labels: str) -> tuple[Column, ...]:
    """Columns of published models that come with engnn, under the paper's names for them."""
    return tuple(
        Column(name=name, label=label, settings={"model.name": name}, late=True) for name, label in labels.items()
    )


@cache
def tables() -> dict[str, Table]:
    """All tables: the modules of `engnn.reproduce.tables`, each with its `TABLE`."""
    path = engnn.reproduce.tables.__path__
    found = [import_module(one.name).TABLE for one in pkgutil.iter_modules(path, "engnn.reproduce.tables.")]
    order = sorted(found, key=lambda one: (one.number is None, one.number or 0, one.name))
    return {table.name: table for table in order}


def table(name: str) -> Table:
    """The table of that name.

    >>> table("node").cells[0].name
    'cora/engnn'
    """
    if name not in tables():
        raise InputError(f"table {name!r} is not known; {nearest(name, tables())}")
    return tables()[name]

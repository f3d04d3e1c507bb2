"""The records of a table: one file, `records/TABLE.jsonl`, that any number of processes add to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engnn.reproduce.table import Cell, Run, Said, Table
from engnn.train import durable


def path_of(records: Path, table: Table) -> Path:
    """Where a table's records are."""
    return records / f"{table.name}.jsonl"


def read(path: Path) -> list[Said]:
    """All records of a file; none where there is no file. Half a line, left by a process that died, is no record."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and "cell" in said:
            found.append(said)
    return found


def add(path: Path, run: Run, said: Said, recipe: list[str]) -> None:
    """Put a record into the file, with its place in the table and what its recipe says of itself."""
    place = {"table": run.cell.table.name, "row": run.cell.row.name, "column": run.cell.column.name}
    with durable.storage(path, 0):
        path.parent.mkdir(parents=True, exist_ok=True)
    durable.append_line(path, json.dumps({"cell": place, "recipe": recipe, **said}, allow_nan=False))


def of_cell(found: list[Said], cell: Cell, seeds: int) -> tuple[dict[int, Said], int]:
    """The complete records of a cell by seed, of the recipe that the cell has now; and how many others there are.

    A setting that the recipe does not name may be another: defaults change, and the record says what ran.
    """
    from engnn.reproduce.recipe import settings

    place = {"table": cell.table.name, "row": cell.row.name, "column": cell.column.name}
    here = [said for said in found if said["cell"] == place]
    by_seed = {
        said["seed"]: said
        for said in here
        if said["complete"] and 0 <= said["seed"] < seeds and fits(said, settings(Run(cell, said["seed"])))
    }
    return by_seed, len(here) - len(by_seed)


def fits(said: Said, asked: Mapping[str, Any]) -> bool:
    """Whether a record is of a run with these settings.

    >>> fits({"config": {"seed": 1, "model": {"layers": 4}}}, {"model.layers": 4})
    True
    """
    config = said["config"]
    flat = {name: value for name, value in config.items() if not isinstance(value, dict)}
    for section, values in config.items():
        if isinstance(values, dict):
            flat |= {f"{section}.{name}": value for name, value in values.items()}
    return all(flat.get(name) == value for name, value in asked.items())

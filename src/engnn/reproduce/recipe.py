"""The settings of a run of a table, from the recipes that come with engnn.

What is said later wins: the recipe that `engnn train` takes for these data and this model; `recipes/tables/TABLE.yaml`,
`TABLE/ROW.yaml`, `TABLE/ROW.COLUMN.yaml`; then what makes the cell: its data, its model, its seed.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from engnn.reproduce.table import Cell, Run
from engnn.train import options


def files(cell: Cell) -> list[Traversable]:
    """The recipes of a cell that there are, the general ones first."""
    folder = resources.files("engnn") / "recipes" / "tables"
    table, row, column = cell.table.name, cell.row.name, cell.column.name
    names = (f"{table}.yaml", f"{table}/{row}.yaml", f"{table}/{row}.{column}.yaml")
    return [file for name in names if (file := folder / name).is_file()]


def settings(run: Run) -> dict[str, Any]:
    """All that is asked of a run, by dotted name."""
    cell = run.cell
    own = {**cell.column.settings, **cell.row.settings}
    own = {name: value.format(seed=run.seed) if isinstance(value, str) else value for name, value in own.items()}
    if not cell.row.recipe:
        return {**own, "seed": run.seed}
    asked = _read(own["data"], own["task"], own.get("model.name", ""), tuple(files(cell)))
    return {**asked, **own, "seed": run.seed}


@cache
def _read(data: str, task: str, model: str, more: tuple[Traversable, ...]) -> dict[str, Any]:
    """The settings in the recipes; read once, for a table asks for them again and again."""
    _, asked = options.default_recipe(data, task, model)
    for file in more:
        asked |= options.parse_recipe(file.read_text(encoding="utf-8"), file.name)
    return asked


def about(cell: Cell) -> list[str]:
    """What the recipes say of themselves in the comments that they begin with, such as how they were found."""
    said = []
    for file in files(cell):
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            said.append(line.lstrip("# "))
    return said

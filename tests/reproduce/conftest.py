"""A table small enough for tests, and records made by hand."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engnn.reproduce.recipe import settings
from engnn.reproduce.table import Cell, Run, Table


@pytest.fixture(scope="session")
def small() -> Table:
    """Two data sets and two models, each run in a moment."""
    spec = importlib.util.spec_from_file_location("small", Path(__file__).with_name("small.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table: Table = module.TABLE
    return table


@pytest.fixture
def made() -> Callable[..., dict[str, Any]]:
    """`made(cell, seed, test, **changed)`: the record of a complete run of a cell, as far as pages speak of it."""

    def record(cell: Cell, seed: int, test: float | None, **changed: Any) -> dict[str, Any]:
        config: dict[str, Any] = {}
        for name, value in settings(Run(cell, seed)).items():
            section, _, key = name.rpartition(".")
            (config.setdefault(section, {}) if section else config)[key] = value
        return {
            "cell": {"table": cell.table.name, "row": cell.row.name, "column": cell.column.name},
            "recipe": [],
            "config": config,
            "seed": seed,
            "scores": {"train": 1.0, "valid": 0.5, "test": test},
            "higher_is_better": True,
            "provenance": "original",
            "epochs": 10,
            "seconds": 2.0,
            "complete": True,
        } | changed

    return record

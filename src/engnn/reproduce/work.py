"""Runs of a table, one after another: those that are on record are passed by, one that was begun is gone on with."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from engnn.data.files import MissingFile
from engnn.errors import InputError, Stopped
from engnn.reproduce import ledger
from engnn.reproduce.recipe import about, settings
from engnn.reproduce.table import Cell, Run, Stopping, Table
from engnn.train import durable
from engnn.train.tune import try_lock

DONE, RAN, BUSY, LEFT, ABSENT, FAILED = "on record", "run now", "run by another process", "left", "no data", "failed"


def work(
    table: Table,
    cells: tuple[Cell, ...],
    seeds: int,
    *,
    records: Path,
    runs: Path,
    stopping: Stopping,
    say: Callable[[str], None] = lambda _: None,
) -> list[tuple[Run, str, str]]:
    """Go through the runs of a table until `stopping` says so; what became of each, and why.

    Several processes may do so at once: who works on a run holds its lock, which the system frees when the process
    ends, however it ends. A signal raises `Stopped`, and all is saved.
    """
    path = ledger.path_of(records, table)
    known = ledger.read(path)
    done = {cell.name: ledger.of_cell(known, cell, seeds)[0] for cell in cells}
    found = []
    for run in table.runs(cells, seeds):
        state, why = (DONE, "") if run.seed in done[run.cell.name] else _one(path, run, runs, stopping, say)
        if state not in (DONE, LEFT):
            say(f"{run.cell.name}, seed {run.seed}: {state}{why and ', ' + why}")
        found.append((run, state, why))
    return found


def _one(path: Path, run: Run, runs: Path, stopping: Stopping, say: Callable[[str], None]) -> tuple[str, str]:
    if stopping():
        return LEFT, ""
    folder = folder_of(runs, run)
    with _claim(folder) as mine:
        if not mine:
            return BUSY, ""
        if run.seed in ledger.of_cell(ledger.read(path), run.cell, run.seed + 1)[0]:  # by whom had the lock until now
            return DONE, ""
        say(f"{run.cell.name}, seed {run.seed}: {folder}")
        began = time.monotonic()
        try:
            said = run.cell.row.measure(run, folder, stopping)
        except MissingFile as error:
            return ABSENT, str(error)
        except (InputError, torch.OutOfMemoryError) as error:
            return FAILED, str(error)
        except Stopped:
            if not stopping():
                raise Stopped("the same call") from None
            return LEFT, "begun"
        ledger.add(path, run, said, about(run.cell))
        return RAN, f"{time.monotonic() - began:.0f} s"


def folder_of(runs: Path, run: Run) -> Path:
    """The folder of a run, another one for other settings."""
    asked = json.dumps(settings(run), sort_keys=True).encode()
    name = f"{run.cell.row.name}-{run.cell.column.name}-{run.seed}-{hashlib.sha256(asked).hexdigest()[:8]}"
    return runs / run.cell.table.name / name


@contextmanager
def _claim(folder: Path) -> Iterator[bool]:
    """Hold the lock of a run, if nobody else does."""
    with durable.storage(folder, 0):
        folder.parent.mkdir(parents=True, exist_ok=True)
    handle = try_lock(folder.with_name(f"{folder.name}.lock"))
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)

"""A table is run once, whoever is killed and however many work on it; a budget ends it without a loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engnn.data.files import MissingFile
from engnn.errors import Stopped
from engnn.reproduce import ledger, work
from engnn.reproduce.recipe import settings
from engnn.reproduce.table import Run, Table
from engnn.train.finite import NotFinite
from engnn.train.options import make_config, parse_recipe, read_recipe, written

MEASURED = ("seconds", "peak_memory_bytes", "revision", "hardware")  # of the place and the time, not of the run


def go(table: Table, folder: Path, stopping: Callable[[], bool] = lambda: False) -> Counter[str]:
    where = {"records": folder / "records", "runs": folder / "runs"}
    return Counter(state for _, state, _ in work.work(table, table.cells, table.seeds, **where, stopping=stopping))


def told(folder: Path) -> list[dict[str, Any]]:
    """The records, in the order of the cells, what is measured apart."""
    found = [json.loads(line) for line in (folder / "records" / "small.jsonl").read_text().splitlines()]
    found.sort(key=lambda said: (str(said["cell"]), said["seed"]))
    return [{key: value for key, value in said.items() if key not in MEASURED} for said in found]


@pytest.fixture(scope="module")
def whole(small: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table, run without any interruption."""
    folder = tmp_path_factory.mktemp("whole")
    assert go(small, folder) == {work.RAN: 8}
    return folder


def test_each_run_is_on_record_once_with_its_place_and_its_scores(small: Table, whole: Path) -> None:
    found = told(whole)
    assert len({(str(said["cell"]), said["seed"]) for said in found}) == len(found) == 8
    for said in found:
        assert said["complete"]
        assert said["scores"]["test"] is not None
        assert said["variant"] == said["cell"]["column"]


def test_what_is_on_record_is_not_run_again(small: Table, whole: Path) -> None:
    before = told(whole)
    assert go(small, whole) == {work.DONE: 8}
    assert told(whole) == before


def test_another_recipe_is_another_run(small: Table, whole: Path, tmp_path: Path) -> None:
    first, second = small.rows
    changed = replace(small, rows=(replace(first, settings={**first.settings, "train.epochs": 2}), second))
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "small.jsonl").write_bytes((whole / "records" / "small.jsonl").read_bytes())
    assert go(changed, tmp_path) == {work.RAN: 4, work.DONE: 4}
    found = ledger.read(tmp_path / "records" / "small.jsonl")
    by_seed, others = ledger.of_cell(found, changed.cells[0], 2)
    assert {seed: said["epochs"] for seed, said in by_seed.items()} == {0: 2, 1: 2}
    assert others == 2


def test_a_budget_ends_it_within_a_run_and_what_follows_goes_on_to_the_same_records(
    small: Table, whole: Path, tmp_path: Path
) -> None:
    calls, left, steps = 0, small.seeds * len(small.cells), 0

    def stopping() -> bool:
        nonlocal calls
        calls += 1
        return calls > 7

    while left:
        calls = 0
        states = go(small, tmp_path, stopping)
        assert set(states) <= {work.RAN, work.DONE, work.LEFT}
        left = states[work.LEFT]
        steps += 1
    assert steps > 8  # most runs took several
    assert told(tmp_path) == told(whole)


def test_no_budget_runs_nothing_and_says_what_is_left(small: Table, tmp_path: Path) -> None:
    assert go(small, tmp_path, lambda: True) == {work.LEFT: 8}
    assert not (tmp_path / "records").exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("how", ["killed", "together"])
def test_processes_that_are_killed_or_many_give_each_record_once(how: str, whole: Path, tmp_path: Path) -> None:
    program = Path(__file__).with_name("small.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, program, tmp_path, how], env=environment, capture_output=True, text=True, check=False
    )
    codes = [int(word) for word in done.stdout.split()]
    assert codes, done.stderr
    assert set(codes) == ({-9, 0} if how == "killed" else {0}), done.stderr
    assert told(tmp_path) == told(whole)


def test_half_a_line_of_a_process_that_died_is_no_record(small: Table, whole: Path, tmp_path: Path) -> None:
    lines = (whole / "records" / "small.jsonl").read_bytes().splitlines(keepends=True)
    path = ledger.path_of(tmp_path, small)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:100])
    assert len(ledger.read(path)) == 7
    ledger.add(path, Run(small.cells[0], 0), {"config": {}}, [])
    assert len(ledger.read(path)) == 8


@pytest.mark.parametrize(
    ("error", "state"), [(MissingFile("x is not here"), work.ABSENT), (NotFinite("the loss is nan"), work.FAILED)]
)
def test_a_run_that_cannot_be_is_told_and_the_others_are_run(
    error: Exception, state: str, small: Table, tmp_path: Path
) -> None:
    def measure(run: Run, folder: Path, stopping: object) -> dict[str, Any]:
        if run.cell.row.name == "club":
            raise error
        return {"config": {}, "seed": run.seed, "complete": True}

    table = replace(small, rows=tuple(replace(row, measure=measure, recipe=False) for row in small.rows))
    assert go(table, tmp_path) == {state: 4, work.RAN: 4}
    found = ledger.read(tmp_path / "records" / "small.jsonl")
    assert {said["cell"]["row"] for said in found} == {"deep"}


def test_only_complete_records_of_the_table_s_seeds_count(small: Table, made: Callable[..., dict[str, Any]]) -> None:
    cell = small.cells[0]
    found = [made(cell, 0, 0.5), made(cell, 1, 0.5, complete=False), made(cell, 2, 0.5), made(small.cells[1], 0, 0.1)]
    by_seed, others = ledger.of_cell(found, cell, 2)
    assert list(by_seed) == [0]
    assert others == 2


def test_a_signal_is_no_budget(small: Table, tmp_path: Path) -> None:
    def measure(run: Run, folder: Path, stopping: object) -> dict[str, Any]:
        raise Stopped

    table = replace(small, rows=tuple(replace(row, measure=measure) for row in small.rows))
    with pytest.raises(Stopped, match=r"^the same call$"):
        go(table, tmp_path)


def test_a_tuned_recipe_as_it_is_written_asks_for_what_its_runs_have_on_record(small: Table, whole: Path) -> None:
    """`engnn tune` writes whole configurations, of another seed: they may lie where recipes of cells do."""
    found = ledger.read(whole / "records" / "small.jsonl")
    by_seed, _ = ledger.of_cell(found, small.cells[0], 2)
    config = make_config(read_recipe(work.folder_of(whole / "runs", Run(small.cells[0], 0)) / "config.yaml"))
    recipe = parse_recipe(written(config), "best.yaml")
    for seed, said in by_seed.items():
        own = {**settings(Run(small.cells[0], seed)), "seed": seed}
        assert ledger.fits(said, {**recipe, **own})
        assert not ledger.fits(said, {**recipe, **own, "train.learning_rate": 1.0})

"""`engnn reproduce` as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engnn.cli import main
from engnn.reproduce.table import table, tables


def call(folder: Path, *argv: str) -> int:
    return main(["reproduce", *argv, "--records", str(folder / "records"), "--runs", str(folder / "runs")])


def test_a_budget_that_is_spent_ends_well_and_says_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "node", "--budget", "0", "--cells", "texas*", "cora/engnn", "--seeds", "3", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    cells = [cell for cell in table("node").cells if cell.row.name == "texas-public" or cell.name == "cora/engnn"]
    assert said["table"] == "node"
    assert said["counts"] == {"left": 3 * len(cells)}
    assert {run["cell"] for run in said["runs"]} == {cell.name for cell in cells}
    assert not list(tmp_path.iterdir())


def test_a_run_writes_its_record_and_is_not_run_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("scalability", "--json")
    records = tmp_path / "records" / "scalability.jsonl"
    records.parent.mkdir()
    place = {"table": "scalability", "row": "zinc", "column": "all"}
    config = {"data": "zinc", "task": "graph", "seed": 0}
    records.write_text(json.dumps({"cell": place, "config": config, "seed": 0, "complete": True}) + "\n")
    assert call(tmp_path, *asked) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"on record": 1}
    assert len(records.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["noed"], "table 'noed' is not known; did you mean 'node'?"),
        (["node", "--cells", "coral/engnn"], "table node has no cell 'coral/engnn'; did you mean 'cora/engnn'?"),
        (["node", "--seeds", "0"], "'0' is not a number of seeds"),
        (["node", "--budget", "soon"], "'soon' is not a number of minutes"),
        (["node", "--budget", "nan"], "'nan' is not a number of minutes"),
        (["node", "--bugdet", "3"], "--bugdet is not an option"),
    ],
)
def test_a_wrong_call_ends_with_code_2_and_writes_nothing(
    argv: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, *argv) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_help_names_all_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in tables())

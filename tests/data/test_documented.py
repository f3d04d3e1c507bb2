"""docs/data.md says what is so: its tables name every dataset as it is, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engnn.cli import main
from engnn.data import own
from engnn.data.catalog import sources

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [line.strip("|").split("|") for line in TEXT.partition("## Named datasets")[2].splitlines() if line[:1] == "|"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("name", sources())
def test_every_dataset_is_in_one_row_with_its_provenance_and_licence(name: str) -> None:
    rows = [row for row in ROWS if f"`{name}`" in row[0]]
    assert len(rows) == 1, f"give {name} a place in one of the tables of {PAGE}"
    (row,) = rows
    assert row[1].strip() == sources()[name].provenance
    assert sources()[name].licence.startswith(row[2].strip())


def test_no_other_dataset_is_named() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])}
    assert named == set(sources())


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_each_piece_of_python_runs(number: int) -> None:
    exec(compile(blocks("python")[number], f"{PAGE}, block {number}", "exec"), {})


def test_the_tables_are_data(tmp_path: Path) -> None:
    nodes, edges = blocks("csv")
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(edges)
    dataset = own.read(tmp_path)
    assert (dataset.task, dataset.ids, dataset.classes) == ("node", ("anna", "ben", "cem"), ("guest", "member"))
    assert {part: ids.tolist() for part, ids in dataset.split.items()} == {"train": [0], "valid": [1], "test": [2]}


def test_every_command_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    for command in re.findall(r"^engnn (\w+ \w+)", "\n".join(blocks("sh")), re.MULTILINE):
        assert main([*command.split(), "--help"]) == 0
    assert "usage: engnn data" in capsys.readouterr().out


def test_every_file_that_is_read_is_listed() -> None:
    for suffix in (*own.READERS, ".csv", ".csv.gz", ".parquet"):
        assert f"`{suffix}`" in TEXT

"""`engnn data list|info|check|fetch`: one JSON document, or lines for people; an error is one line and exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engnn.cli import main
from engnn.data import files
from engnn.data.catalog import sources

Capture = pytest.CaptureFixture[str]

EDGES = "source,target\na,b\nb,c\nc,d\nd,e\n"
NODES = "id,age,label\na,1,x\nb,2,y\nc,3,x\nd,4,y\ne,5,x\n"
INFO = {  # what design and docs promise of `data info --json`
    *("name", "task", "graphs", "nodes", "edges", "features", "classes", "metric", "splits", "provenance", "present"),
    *("licence", "source", "bytes"),
}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of the user's own."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "edges.csv").write_text(EDGES)
    (tmp_path / "mine" / "nodes.csv").write_text(NODES)
    return tmp_path / "mine"


@pytest.fixture
def nowhere(cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place for raw files, which has none; nothing was parsed before."""
    monkeypatch.setattr(files, "roots", lambda: (tmp_path / "nowhere",))
    return tmp_path / "nowhere"


def said_json(capsys: Capture, *argv: str) -> Any:
    """What a command prints, which is one JSON document and nothing else."""
    assert main(["data", *argv, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def refused(capsys: Capture, *argv: str) -> str:
    """The one line that says why a call is wrong."""
    assert main(["data", *argv]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return printed.err


def test_list_has_every_dataset_once_with_what_is_known_of_it(capsys: Capture) -> None:
    listed = said_json(capsys, "list")
    assert [one["name"] for one in listed] == sorted(sources())
    for one in listed:
        assert {"name", "tasks", "provenance", "licence", "present", "bytes", "summary"} <= one.keys()
        assert one["present"] == (one["missing"] == [])


def test_list_is_a_line_for_each_dataset_for_people(capsys: Capture) -> None:
    assert main(["data", "list"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["name", "tasks", "provenance", "files"]
    assert [line.split()[0] for line in lines] == sorted(sources())
    assert all(" here " in line or " absent " in line for line in lines)


@pytest.mark.parametrize("data", ["karate", "small-world", "counting-generated:6-cycle", "csl"])
def test_info_has_all_that_is_promised(data: str, capsys: Capture) -> None:
    facts = said_json(capsys, "info", data)
    assert facts.keys() >= INFO
    assert facts["name"] == data
    assert sum(facts["splits"].values()) > 0 or not facts["present"]


def test_info_tells_the_split_and_the_task_that_are_asked_for(
    capsys: Capture, open_or_skip: Callable[..., Any]
) -> None:
    open_or_skip("cora")
    assert said_json(capsys, "info", "cora")["splits"] == {"train": 1625, "valid": 542, "test": 541}
    public = said_json(capsys, "info", "cora", "--split", "public")
    assert (public["split"], public["splits"]) == ("public", {"train": 140, "valid": 500, "test": 1000})
    links = said_json(capsys, "info", "cora", "--task", "link")
    assert (links["task"], links["metric"], sum(links["splits"].values())) == ("link", "hits@100", 5278)


def test_info_of_absent_data_says_so_and_is_no_error(capsys: Capture, nowhere: Path) -> None:
    facts = said_json(capsys, "info", "cora")
    assert facts.keys() >= INFO
    assert (facts["present"], facts["nodes"], facts["bytes"]) == (False, None, 0)
    assert "Planetoid/Cora/raw/ind.cora.x" not in facts["missing"]
    assert "Planetoid/Cora/raw/ind.cora.allx" in facts["missing"]
    assert main(["data", "info", "cora"]) == 0
    assert "present        no" in capsys.readouterr().out


def test_check_tells_what_is_in_the_users_files(mine: Path, capsys: Capture) -> None:
    facts = said_json(capsys, "check", str(mine))
    assert (facts["name"], facts["task"], facts["nodes"], facts["edges"]) == ("mine", "node", 5, 4)
    assert (facts["classes"], facts["splits"]) == (2, {"train": 3, "valid": 1, "test": 1})
    assert "classes: 'x' -> 0, 'y' -> 1" in facts["notes"]
    assert main(["data", "check", str(mine), "--task", "link"]) == 0
    printed = capsys.readouterr().out
    assert "task           link" in printed
    assert "note: random split of the edges with seed 0" in printed


def test_check_takes_a_path_even_where_a_dataset_has_that_name(
    mine: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.rename(mine.parent / "cora")
    monkeypatch.chdir(mine.parent)
    assert said_json(capsys, "check", "cora")["provenance"] == "own"


def test_another_seed_draws_another_split_and_the_same_one_the_same(mine: Path, capsys: Capture) -> None:
    (mine / "nodes.csv").write_text("id,label\n" + "".join(f"{n},{n % 2}\n" for n in range(90)))
    (mine / "edges.csv").write_text("source,target\n1,2\n")
    zero, again, one = (said_json(capsys, "check", str(mine), "--seed", seed) for seed in ("0", "0", "1"))
    assert zero == again
    assert "random split with seed 1" in " ".join(one["notes"])


def test_fetch_gives_the_files_that_are_here(capsys: Capture, open_or_skip: Callable[..., Any]) -> None:
    open_or_skip("usair")
    (file,) = said_json(capsys, "fetch", "usair")["files"]
    assert Path(file["path"]).name == "USAir.mat"
    assert file["bytes"] == Path(file["path"]).stat().st_size
    assert said_json(capsys, "fetch", "karate") == {"name": "karate", "files": []}
    assert main(["data", "fetch", "karate"]) == 0
    assert capsys.readouterr().out == "karate needs no files\n"


def test_fetch_says_which_file_to_put_where_when_it_cannot_be_had(capsys: Capture, nowhere: Path) -> None:
    for name in ("usair", "csl", "ogbl-ppa", "ppi_bp"):
        said = refused(capsys, "fetch", name)
        assert sources()[name].files[0].path in said
        assert f"Put it (SHA-256 {sources()[name].files[0].sha256 or 'not known'}) under {nowhere}" in said
    assert not nowhere.exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["info", "coar"], "engnn: 'coar' is neither a dataset nor a file or folder here; did you mean 'cora'?\n"),
        (["fetch", "coar"], "did you mean 'cora'"),
        (["fetch", "/tmp/mine"], "/tmp/mine is a path, and only named datasets are fetched"),
        (["check", "nowhere"], "nowhere is not there"),
        (["info", "counting", "--seed", "-1"], "seed -1 must be a whole number from 0"),
        (["info", "karate", "--task", "nodes"], "did you mean 'node'"),
        (["info", "karate", "--split", "public"], "karate has no split 'public'"),
        (["info", "karate", "--seed", "-1"], "seed -1 must be a whole number from 0"),
        (["info", "karate", "--seed", "1.5"], "--seed"),
        (["info"], "NAME"),
        (["check"], "PATH"),
        (["fetch"], "NAME"),
        ([], "ACTION"),
        (["lst"], "lst"),
    ],
)
def test_a_wrong_call_is_told_in_short(argv: list[str], said: str, capsys: Capture) -> None:
    assert said in refused(capsys, *argv)


@pytest.mark.parametrize("action", ["list", "info", "check", "fetch"])
def test_help_names_the_options(action: str, capsys: Capture) -> None:
    assert main(["data", action, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engnn", "data", "list"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")

"""Whatever ends a run, the same command with `--resume` gives what an uninterrupted run gives, to the bit."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASKS = ("node", "link", "subgraph", "graph")
KILLS = 20
MEASURED = ("seconds", "peak_memory_bytes", "revision")  # what two runs may differ in (files change between them)
SMALL = (
    *("--model.layers=1", "--model.hidden=8", "--model.noise_channels=4", "--model.noise_dim=4"),
    *("--model.dropout=0.1", "--train.average=0.5", "--train.epochs=4", "--train.batch_size=8"),
    *("--train.checkpoint_steps=2", "--draws=2"),
)


def result(run: Path) -> dict[str, Any]:
    """All that a finished run gave, what is measured apart."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    documents = [*lines, json.loads((run / "record.json").read_text())]
    told = [{key: value for key, value in one.items() if key not in MEASURED} for one in documents]
    files = ("model.safetensors", "model.json", "predictions.csv", "config.yaml")
    return {"told": told, **{file: (run / file).read_bytes() for file in files}}


@pytest.mark.parametrize("task", TASKS)
def test_a_run_that_is_killed_at_random_places_ends_as_if_it_had_not_been(
    task: str, engnn: Any, own_data: Callable[[str], Path], tmp_path: Path
) -> None:
    def command(run: Path) -> list[object]:
        return ["train", own_data(task), "--task", task, "--out", run, "--resume", *SMALL]

    whole = engnn(*command(tmp_path / "whole"), at_call=0)
    assert whole.code == 0, whole.err
    expected = result(tmp_path / "whole")
    places = random.Random(task)
    kills = runs = 0
    while kills < KILLS:
        run = tmp_path / str(runs)
        ended = engnn(*command(run), at_call=places.randint(1, whole.calls))
        if ended.code == -signal.SIGKILL:
            kills += 1
            continue
        assert ended.code == 0, ended.err
        assert result(run) == expected
        runs += 1
    ended = engnn(*command(run))
    assert ended.code == 0, ended.err
    assert result(run) == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_stop_saves_itself_and_goes_on_to_the_same_end(
    number: signal.Signals, engnn: Any, own_data: Callable[[str], Path], tmp_path: Path
) -> None:
    def command(run: Path) -> list[object]:
        return ["train", own_data("graph"), "--out", run, "--resume", *SMALL, "--train.checkpoint_steps=0"]

    whole = engnn(*command(tmp_path / "whole"), at_call=0)
    stops = []
    for percent in (1, 20, 50, 70, 90, 97):
        run = tmp_path / str(percent)
        ended = engnn(*command(run), at_call=whole.calls * percent // 100, signal=number)
        if ended.code == -number:  # it came before the command had read what it is to do
            assert not run.exists()
            continue
        assert ended.code in (0, 3), ended.err
        assert "Traceback" not in ended.err
        if ended.code == 3:
            stops.append((run / "checkpoint" / "latest").exists())
        ended = engnn(*command(run))
        assert ended.code == 0, ended.err
        assert result(run) == result(tmp_path / "whole")
    assert any(stops), "no signal came while there was anything to save"


def test_a_finished_run_is_not_run_again(engnn: Any, own_data: Callable[[str], Path], tmp_path: Path) -> None:
    command = ["train", own_data("graph"), "--out", tmp_path / "run", *SMALL, "--json"]
    first = engnn(*command)
    again = engnn(*command, "--resume")
    assert again.code == 0, again.err
    assert json.loads(again.out) == json.loads(first.out)
    refused = engnn(*command)
    assert refused.code == 2
    assert "--resume" in refused.err
    assert json.loads((tmp_path / "run" / "record.json").read_text()) == json.loads(first.out)


def test_a_run_cannot_go_on_as_another(engnn: Any, own_data: Callable[[str], Path], tmp_path: Path) -> None:
    command = ["train", own_data("graph"), "--out", tmp_path / "run", *SMALL]
    engnn(*command)
    refused = engnn(*command, "--resume", "--train.learning_rate=0.5")
    assert refused.code == 2
    assert "train.learning_rate was 0.002 and is 0.5 now" in refused.err

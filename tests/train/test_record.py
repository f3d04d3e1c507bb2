"""What is on record of a run is true, plain JSON, and enough to make the run again."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import torch

from engnn.data.catalog import open_dataset
from engnn.train import record
from engnn.train.options import make_config, options, parse_recipe
from engnn.train.progress import Printed
from engnn.train.run import train

SETTINGS = {
    "data": "karate",
    "model.layers": 1,
    "model.hidden": 8,
    "train.epochs": 4,
    "train.device": "cpu",
    "draws": 2,
}


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return train(make_config(SETTINGS), open_dataset("karate"))


def test_its_configuration_makes_the_run_again(said: dict[str, Any]) -> None:
    again = json.loads(json.dumps(said, allow_nan=False))
    flat = {key: value for key, value in again["config"].items() if not isinstance(value, dict)}
    flat |= {f"{part}.{key}": value for part in ("model", "train") for key, value in again["config"][part].items()}
    assert flat.keys() == options().keys()
    repeated = train(make_config(flat), open_dataset("karate"))
    assert repeated["scores"] == said["scores"]


def test_it_says_what_was_done(said: dict[str, Any]) -> None:
    assert (said["dataset"], said["task"], said["metric"], said["provenance"]) == (
        "karate",
        "node",
        "accuracy",
        "original",
    )
    assert (said["epochs"], said["steps"], said["draws"], said["seed"]) == (4, 4, 2, 0)
    assert said["complete"] is True
    assert said["versions"]["torch"] == torch.__version__
    assert said["peak_memory_bytes"] > 50 << 20
    assert said["hardware"]["threads"] == torch.get_num_threads()


def test_a_revision_is_that_of_the_checkout_with_a_mark_where_files_differ() -> None:
    found = record.revision()
    assert found is None or (len(found.rstrip("+")) == 40 and int(found.rstrip("+"), 16))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_changes_and_a_file_a_few_plain_ones() -> None:
    config = make_config(SETTINGS, {"train.epochs": 100})
    for out, lines in ((Terminal(), 1), (io.StringIO(), 21)):
        printed = Printed(config, "accuracy", out)
        for epoch in range(1, 101):
            printed.epoch({"epoch": epoch, "step": epoch, "loss": 0.5, "valid": 0.25, "best": 0.75})
        printed.end()
        assert out.getvalue().count("\n") == lines
        assert "epoch 100/100  loss 0.5  valid accuracy 0.25 (best 0.75)" in out.getvalue()
        assert out.getvalue().endswith("0 s left\n")
        assert ("\r" in out.getvalue()) == out.isatty()


def test_a_score_that_is_undefined_is_shown_as_none() -> None:
    out = io.StringIO()
    printed = Printed(make_config(SETTINGS), "roc_auc", out)
    printed.epoch({"epoch": 1, "step": 1, "loss": 0.5, "valid": None, "best": None})
    assert "roc_auc" not in out.getvalue()
    assert parse_recipe("", "nothing") == {}

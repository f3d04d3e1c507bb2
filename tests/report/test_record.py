"""Records: what a table of them may say."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engnn.errors import InputError
from engnn.report.record import Record, groups, read_record, read_records

Make = Callable[..., dict[str, Any]]


def records(tmp_path: Path, *found: dict[str, Any]) -> list[Record]:
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    return read_records(path)


def test_mean_and_deviation_are_over_seeds(tmp_path: Path, record: Make) -> None:
    scores = [0.7, 0.8, 0.84]
    found = records(tmp_path, *(record(seed=seed, scores={"test": score}) for seed, score in enumerate(scores)))
    (group,) = groups(found)
    assert group.seeds == (0, 1, 2)
    assert group.mean("test") == pytest.approx(statistics.fmean(scores))
    assert group.deviation("test") == pytest.approx(statistics.stdev(scores))
    assert group.mean("valid") is None


def test_incomplete_records_count_for_nothing(tmp_path: Path, record: Make) -> None:
    found = records(tmp_path, record(), record(seed=1, complete=False, scores={"test": 0.0}))
    (group,) = groups(found)
    assert group.seeds == (0,)
    assert group.deviation("test") is None


def test_a_seed_without_a_score_leaves_no_mean(tmp_path: Path, record: Make) -> None:
    (group,) = groups(records(tmp_path, record(), record(seed=1, scores={"test": None})))
    assert group.mean("test") is None


def test_two_configurations_never_share_a_mean(tmp_path: Path, record: Make) -> None:
    configs = [{"model": {"layers": layers}, "seed": seed} for layers in (2, 4) for seed in range(3)]
    found = records(tmp_path, *(record(config=config, seed=config["seed"]) for config in configs))
    assert [(group.setting, group.seeds) for group in groups(found)] == [
        ("model.layers=2", (0, 1, 2)),
        ("model.layers=4", (0, 1, 2)),
    ]


@pytest.mark.parametrize(
    "other", [{"provenance": "rebuilt"}, {"variant": "mpnn"}, {"metric": "AUC"}, {"draws": 1}, {"task": "link"}]
)
def test_what_is_not_alike_is_apart(tmp_path: Path, record: Make, other: dict[str, Any]) -> None:
    assert len(groups(records(tmp_path, record(), record(seed=1, **other)))) == 2


def test_a_run_done_again_counts_once(tmp_path: Path, record: Make) -> None:
    (group,) = groups(records(tmp_path, record(scores={"test": 0.1}), record(scores={"test": 0.9})))
    assert group.seeds == (0,)
    assert group.mean("test") == 0.9


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is not a JSON object"),
        ('{"dataset": "cora"}', "line 2: the record has no 'provenance'"),
        ("[" * 100_000, "line 2 is nested too deeply"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, record: Make, line: str, says: str) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(record()) + "\n" + line + "\n")
    with pytest.raises(InputError, match=says):
        read_records(path)


@pytest.mark.parametrize(
    "wrong", [{"seed": True}, {"seed": "0"}, {"scores": {"test": "0.8"}}, {"config": []}, {"complete": 1}]
)
def test_a_value_of_another_type_is_named(tmp_path: Path, record: Make, wrong: dict[str, Any]) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record(**wrong)))
    with pytest.raises(InputError, match=f"record.json.*{'test' if 'scores' in wrong else next(iter(wrong))}"):
        read_record(path)


def test_an_undefined_score_is_none(tmp_path: Path, record: Make) -> None:
    (found,) = records(tmp_path, record(scores={"test": float("nan"), "valid": float("inf"), "train": 10**400}))
    assert found.scores == {"train": None, "valid": None, "test": None}

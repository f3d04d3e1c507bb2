"""Run folders made by hand, as `engnn train` writes them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Table = tuple[list[str], list[list[object]]]
MakeRun = Callable[..., Path]


def _record(**changed: Any) -> dict[str, Any]:
    """A whole record, but for what is changed."""
    return {
        "dataset": "cora",
        "provenance": "original",
        "task": "node",
        "model": "engnn",
        "variant": "engnn",
        "config": {"model": {"layers": 4, "hidden": 64}, "seed": 0},
        "seed": 0,
        "metric": "accuracy",
        "higher_is_better": True,
        "scores": {"train": 0.99, "valid": 0.81, "test": 0.8},
        "draws": 8,
        "epochs": 40,
        "seconds": 75.0,
        "peak_memory_bytes": 512 * 2**20,
        "parameters": 123456,
        "hardware": {"device": "cpu", "cores": 2},
        "versions": {"engnn": "0.1.0", "torch": "2.13.0"},
        "revision": "0123abc",
        "complete": True,
    } | changed


def _epochs(count: int = 40) -> list[dict[str, Any]]:
    """The lines of a run that learns; validated every second epoch."""
    return [
        {
            "epoch": epoch,
            "step": 10 * epoch,
            "seconds": 1.5 * epoch,
            "learning_rate": 0.01 * (1 + math.cos(math.pi * epoch / count)) / 2,
            "loss": 2.0 * math.exp(-epoch / 8) + 0.01,
            "valid": 0.8 - 0.5 * math.exp(-epoch / 10) if epoch % 2 == 0 else None,
            "best": 0.8,
        }
        for epoch in range(1, count + 1)
    ]


def _classes(names: Sequence[str], count: int = 300, *, seed: int = 0) -> Table:
    """Header and rows of one-of-k answers, mostly right; every tenth truth is not known."""
    draw = np.random.default_rng(seed)
    header = ["id", "label", "prediction", *(f"p:{name}" for name in names)]
    header += [*(f"spread:{name}" for name in names), "entropy"]
    rows: list[list[object]] = []
    for place in range(count):
        truth = int(draw.integers(len(names)))
        logits = draw.normal(size=len(names)) + 2.5 * (np.arange(len(names)) == truth)
        share = np.exp(logits) / np.exp(logits).sum()
        label = "" if place % 10 == 9 else names[truth]
        spread = (0.2 * share * (1 - share)).tolist()
        entropy = float(-(share * np.log(share)).sum())
        rows.append([f"n{place}", label, names[int(share.argmax())], *share.tolist(), *spread, entropy])
    return header, rows


def _values(names: Sequence[str], count: int = 200, *, seed: int = 0) -> Table:
    """Header and rows of values."""
    draw = np.random.default_rng(seed)
    header = ["id", *names, *(f"spread:{name}" for name in names), *(f"label:{name}" for name in names)]
    rows: list[list[object]] = []
    for place in range(count):
        truth = draw.normal(3, 2, len(names))
        spread = draw.uniform(0.02, 0.3, len(names))
        rows.append([f"g{place}", *(truth + draw.normal(size=len(names)) * spread), *spread, *truth])
    return header, rows


def _links(count: int = 400, *, seed: int = 0) -> Table:
    """Header and rows of yes/no answers about pairs."""
    draw = np.random.default_rng(seed)
    header = ["source", "target", "p:link", "spread:link", "label:link"]
    rows: list[list[object]] = []
    for place in range(count):
        truth = place % 4 == 0
        rows.append([f"a{place}", f"b{place}", draw.beta(5, 2) if truth else draw.beta(2, 6), 0.03, int(truth)])
    return header, rows


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """`make_run(name, answers=(header, rows), record=..., epochs=..., config=...)`: a run folder."""

    def make(
        name: str = "cora-0",
        *,
        answers: Table | None = None,
        record: dict[str, Any] | None = None,
        epochs: list[dict[str, Any]] | None = None,
        config: str = "dataset: cora\nseed: 0\nmodel:\n  layers: 4\n",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.yaml").write_text(config, encoding="utf-8")
        lines = _epochs() if epochs is None else epochs
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        (folder / "record.json").write_text(json.dumps(record or _record()), encoding="utf-8")
        if answers is not None:
            with (folder / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([answers[0], *answers[1]])
        return folder

    return make


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    """`record(**changed)`: a whole record, but for what is changed."""
    return _record


@pytest.fixture
def epochs() -> Callable[..., list[dict[str, Any]]]:
    """`epochs(count)`: the lines of a run that learns."""
    return _epochs


@pytest.fixture
def classes() -> Callable[..., Table]:
    """`classes(names, count)`: header and rows of one-of-k answers."""
    return _classes


@pytest.fixture
def values() -> Callable[..., Table]:
    """`values(names, count)`: header and rows of values."""
    return _values


@pytest.fixture
def links() -> Callable[..., Table]:
    """`links(count)`: header and rows of yes/no answers about pairs."""
    return _links

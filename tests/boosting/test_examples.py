"""Each example of boosting is at most 50 lines, runs, and gives what it says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def run(name: str, **options: Any) -> Any:
    return runpy.run_path(str(EXAMPLES / f"boost_{name}.py"))["main"](**options)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("boost_*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 50


def test_a_boosted_gin_learns_what_a_bare_one_cannot() -> None:
    assert run("model", steps=60) == 1
    assert run("model", steps=10, boosted=False) == 0.5


def test_a_layer_keeps_the_answers_when_channels_are_dealt_anew() -> None:
    assert run("layer") < 1e-5


def test_workers_give_the_same_noise() -> None:
    assert run("data")


def test_neighbourhoods_are_learned_from() -> None:
    assert run("loader") < 0.4


def test_several_types_of_nodes() -> None:
    assert run("hetero") == {"author": [30, 32], "paper": [50, 32]}


@pytest.mark.parametrize("kernels", ["auto", "off"])
def test_an_exported_model_takes_graphs_of_any_size(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGNN_KERNELS", kernels)
    assert run("export") < 1e-5


def test_graphgym_makes_a_boosted_network_of_its_configuration() -> None:
    pytest.importorskip("yacs")
    assert run("graphgym") == [2, 5]


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_lightning_trains_a_boosted_model() -> None:
    pytest.importorskip("pytorch_lightning")
    assert run("lightning", epochs=5) < 1 / 18  # the variance of what is to be learned

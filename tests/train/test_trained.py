"""`engnn.load` in Python: the same answers as the command line, and as the model that was trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import engnn
from engnn.data import own
from engnn.data.catalog import open_dataset
from engnn.errors import InputError
from engnn.train.evaluate import evaluate
from engnn.train.options import make_config
from engnn.train.run import train
from engnn.train.trained import Trained

TINY = {
    "model.layers": 1,
    "model.hidden": 8,
    "model.noise_channels": 4,
    "model.noise_dim": 4,
    "model.noise": "normal",
    "train.epochs": 2,
    "train.device": "cpu",
    "draws": 3,
}


@pytest.fixture(scope="module")
def run(own_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the user's own graphs."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    train(make_config(TINY), own.read(own_data("graph")), folder)
    return folder


@pytest.fixture
def model(run: Path) -> Trained:
    return engnn.load(run, device="cpu")


def test_python_and_the_command_line_say_the_same(
    model: Trained, run: Path, own_data: Callable[[str], Path], engnn: Any, tmp_path: Path
) -> None:
    model.predict(own_data("graph"), draws=2).to_csv(tmp_path / "python.csv")
    ended = engnn("predict", run, own_data("graph"), "--draws", 2, "--out", tmp_path / "command.csv")
    assert ended.code == 0, ended.err
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()


def test_answers_are_means_over_draws_with_their_spread(model: Trained, own_data: Callable[[str], Path]) -> None:
    found = model.predict(own_data("graph"), draws=5)
    assert found.mean.shape == found.spread.shape == (24, 2)
    assert found.draws == 5
    assert torch.allclose(found.mean.sum(1), torch.ones(24, dtype=torch.float64))
    assert found.spread.max() > 0
    assert found.ids["id"] == [str(graph) for graph in range(24)]
    assert found.labels == [found.names[i] for i in found.mean.argmax(1)]
    assert model.predict(own_data("graph"), draws=1).spread.max() == 0
    assert torch.equal(model.predict(own_data("graph"), draws=5).mean, found.mean)


def test_an_answer_does_not_depend_on_who_else_is_asked_about(
    model: Trained, own_data: Callable[[str], Path], write: Callable[..., None], tmp_path: Path
) -> None:
    first = model.predict(own_data("graph")).mean[:1]
    folder = tmp_path / "one"
    folder.mkdir()
    for name in ("nodes", "edges"):
        header, *lines = (own_data("graph") / f"{name}.csv").read_text().splitlines()
        (folder / f"{name}.csv").write_text("\n".join([header, *(line for line in lines if line.startswith("0."))]))
    assert torch.allclose(model.predict(folder).mean, first, atol=1e-6)


def test_more_draws_spread_less(model: Trained, own_data: Callable[[str], Path]) -> None:
    data = model.open(own_data("graph"))

    def wobble(draws: int) -> float:
        means = [evaluate_mean(model, data, draws, seed) for seed in range(4)]
        return float(torch.stack(means).std(0).mean())

    assert wobble(32) < wobble(2)


def evaluate_mean(model: Trained, data: Any, draws: int, seed: int) -> torch.Tensor:
    model.about["seed"] = 1000 * seed
    return model.predict(data, draws=draws).mean


def test_evaluation_at_one_and_at_many_draws(model: Trained, own_data: Callable[[str], Path]) -> None:
    data = own.read(own_data("graph"))
    one, many = (evaluate(model, data, part="test", draws=draws) for draws in (1, 8))
    assert one["standard_error"] is None
    assert one["label_flip_rate"] == 0
    assert one["at_1"] == one["at_R"]
    assert 0 <= many["label_flip_rate"] <= 1
    assert many["at_R"]["nll"] <= many["at_1"]["nll"]  # Jensen: the loss is convex in the probability
    assert many["at_R"]["brier"] <= many["at_1"]["brier"]


def test_a_model_of_a_named_dataset_answers_about_files_in_the_same_shape(tmp_path: Path) -> None:
    train(make_config(TINY), open_dataset("karate"), tmp_path / "run")
    model = engnn.load(tmp_path / "run", device="cpu")
    assert model.predict("karate").mean.shape == (34, 2)
    graph = open_dataset("karate").graphs
    arrays = {"x": graph.x, "edge_index": graph.edge_index, "num_nodes": 34}
    np.savez(tmp_path / "same.npz", **{name: np.asarray(one) for name, one in arrays.items()})
    found = model.predict(tmp_path / "same.npz")
    assert found.names == ("Mr. Hi", "officer")
    assert torch.allclose(found.mean, model.predict("karate").mean)
    arrays["x"] = graph.x[:, :5]  # type: ignore[index]
    np.savez(tmp_path / "narrow.npz", **{name: np.asarray(one) for name, one in arrays.items()})
    with pytest.raises(InputError, match="34"):
        model.predict(tmp_path / "narrow.npz")


def test_answers_of_another_kind_have_no_labels(own_data: Callable[[str], Path], tmp_path: Path) -> None:
    train(make_config(TINY), own.read(own_data("values")), tmp_path / "run")
    found = engnn.load(tmp_path / "run").predict(own_data("values"))
    assert found.entropy is None
    with pytest.raises(InputError, match="no classes"):
        _ = found.labels


def test_what_is_not_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run's folder"):
        engnn.load(tmp_path / "none")
    with pytest.raises(InputError, match="go on with it by --resume"):
        engnn.load(tmp_path)

"""How far probabilities can be believed, against scikit-learn and against what the words mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from engnn.tasks.calibration import calibration, entropy


def probabilities(count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    answers = draw.dirichlet(np.ones(classes), size=count)
    return answers, np.array([draw.choice(classes, p=row) for row in answers])


def test_nll_and_brier_are_the_textbook_ones() -> None:
    answers, y = probabilities(200, 4)
    found = calibration(torch.from_numpy(answers), torch.from_numpy(y))
    assert found["nll"] == pytest.approx(log_loss(y, answers))
    assert found["brier"] == pytest.approx(((answers - np.eye(4)[y]) ** 2).sum(1).mean())


def test_honest_probabilities_are_calibrated_and_boasting_ones_are_not() -> None:
    answers, y = probabilities(50_000, 3)
    honest = calibration(torch.from_numpy(answers), torch.from_numpy(y))["ece"]
    boast = calibration(torch.from_numpy(answers**4 / (answers**4).sum(1, keepdims=True)), torch.from_numpy(y))["ece"]
    assert honest is not None
    assert boast is not None
    assert honest < 0.01 < 0.1 < boast


def test_the_calibration_error_is_that_of_bins_done_by_hand() -> None:
    answers = torch.tensor([[0.7, 0.3], [0.72, 0.28], [0.1, 0.9]], dtype=torch.float64)
    y = torch.tensor([0, 1, 1])
    by_hand = 2 / 3 * abs(0.5 - 0.71) + 1 / 3 * abs(1 - 0.9)
    assert calibration(answers, y)["ece"] == pytest.approx(by_hand)


def test_each_yes_no_answer_counts_and_missing_ones_do_not() -> None:
    answers = torch.tensor([[0.9, 0.2], [0.6, 0.5]], dtype=torch.float64)
    y = torch.tensor([[1.0, 0.0], [0.0, float("nan")]])
    found = calibration(answers, y)
    assert found["nll"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean())
    assert found["brier"] == pytest.approx(np.mean([0.1**2, 0.2**2, 0.6**2]))


def test_without_a_known_label_nothing_is_said() -> None:
    nothing = {"nll": None, "brier": None, "ece": None}
    assert calibration(torch.rand(2, 3), torch.tensor([-1, -1])) == nothing
    assert calibration(torch.rand(2, 1), torch.full((2, 1), torch.nan)) == nothing


def test_a_sure_and_wrong_answer_has_a_finite_nll() -> None:
    nll = calibration(torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.tensor([1]))["nll"]
    assert nll is not None
    assert 700 < nll < 750


def test_entropy_is_greatest_where_nothing_is_known() -> None:
    answers = torch.tensor([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]], dtype=torch.float64)
    found = entropy(answers, "class")
    assert found is not None
    assert found.tolist() == pytest.approx([np.log(2), 0.325083, 0.0], abs=1e-6)
    assert torch.allclose(entropy(answers[:, :1], "binary"), found)  # type: ignore[arg-type]
    assert entropy(answers, "value") is None

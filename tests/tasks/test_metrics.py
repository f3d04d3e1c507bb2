"""Every metric against the published evaluators' definitions (OGB's, scikit-learn's), ties and gaps included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    mean_absolute_error,
    roc_auc_score,
    root_mean_squared_error,
)
from torch import Tensor

from engnn.errors import InputError
from engnn.tasks.answer import Classes, Values, YesNo
from engnn.tasks.metrics import hits, metric, micro_f1, mrr, ranking, rmse, roc_auc

Array = NDArray[np.float64]
FEW = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])  # few values, so that ties abound


def column(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def ogb_hits(positive: Array, negative: Array, k: int) -> float:
    """`_eval_hits` of ogb.linkproppred.Evaluator (OGB 1.3.6), for at least k negatives."""
    kth = np.sort(negative)[-k]
    return float(np.sum(positive > kth)) / len(positive)


def ogb_mrr(positive: Array, negative: Array) -> float:
    """`_eval_mrr` of the same: `negative` is `[p, k]`."""
    optimistic = (negative > positive[:, None]).sum(axis=1)
    pessimistic = (negative >= positive[:, None]).sum(axis=1)
    return float((1.0 / (0.5 * (optimistic + pessimistic) + 1)).mean())


def ogb_mean(of: Callable[[Array, Array], float], answers: Array, y: Array) -> float | None:
    """`_eval_rocauc` and `_eval_ap` of ogb.graphproppred.Evaluator: a mean over outputs that have both answers."""
    scores = []
    for i in range(y.shape[1]):
        if np.sum(y[:, i] == 1) > 0 and np.sum(y[:, i] == 0) > 0:
            known = y[:, i] == y[:, i]
            scores.append(of(y[known, i], answers[known, i]))
    return sum(scores) / len(scores) if scores else None


@given(st.lists(FEW, min_size=1, max_size=20), st.lists(FEW, min_size=3, max_size=20), st.integers(1, 3))
def test_hits_count_ties_as_ogb_does(positive: list[float], negative: list[float], k: int) -> None:
    found = hits(torch.tensor(positive), torch.tensor(negative), k=k)
    assert found == ogb_hits(np.array(positive), np.array(negative), k)


@given(st.lists(st.tuples(FEW, st.tuples(FEW, FEW, FEW, FEW)), min_size=1, max_size=12))
def test_ranks_count_ties_as_ogb_does(rows: list[tuple[float, tuple[float, ...]]]) -> None:
    positive, negative = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found = mrr(torch.from_numpy(positive), torch.from_numpy(negative))
    assert found == pytest.approx(ogb_mrr(positive, negative), rel=1e-12)
    shared = mrr(torch.from_numpy(positive), torch.from_numpy(negative[0]))
    assert shared == pytest.approx(ogb_mrr(positive, np.repeat(negative[:1], len(rows), 0)), rel=1e-12)


def test_own_negatives_of_each_link_are_compared_with_it_alone() -> None:
    positive, negative = torch.tensor([0.5, 0.1]), torch.tensor([[0.4, 0.3], [0.3, 0.2]])
    assert hits(positive, negative, k=1) == 0.5
    assert mrr(positive, negative) == pytest.approx((1 + 1 / 3) / 2)


@given(st.lists(st.tuples(FEW, st.booleans(), FEW, st.sampled_from([0.0, 1.0, np.nan])), min_size=1, max_size=25))
def test_areas_are_those_of_scikit_learn_averaged_as_ogb_does(rows: list[tuple[float, bool, float, float]]) -> None:
    answers = np.array([[row[0], row[2]] for row in rows])
    y = np.array([[float(row[1]), row[3]] for row in rows])
    for name, of in {"roc_auc": roc_auc_score, "average_precision": average_precision_score}.items():
        found = metric(name, answer=YesNo(("a", "b"))).of(torch.from_numpy(answers), torch.from_numpy(y))
        assert found == (None if (known := ogb_mean(of, answers, y)) is None else pytest.approx(known, rel=1e-9))


@given(st.lists(st.tuples(FEW, FEW, st.booleans(), st.booleans()), min_size=1, max_size=25))
def test_micro_f1_is_that_of_scikit_learn(rows: list[tuple[float, float, bool, bool]]) -> None:
    answers, y = np.array([row[:2] for row in rows]), np.array([row[2:] for row in rows], dtype=float)
    found = micro_f1(torch.from_numpy(answers), torch.from_numpy(y))
    if not (answers > 0.5).any() and not y.any():
        assert found is None  # 0 / 0, which scikit-learn calls 0
    else:
        assert found == pytest.approx(f1_score(y, answers > 0.5, average="micro"), rel=1e-12)


@given(st.lists(st.tuples(st.tuples(FEW, FEW, FEW), st.integers(-1, 2)), min_size=1, max_size=25))
def test_accuracy_and_micro_f1_of_classes_agree_with_scikit_learn(rows: list[tuple[tuple[float, ...], int]]) -> None:
    answers, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    known = y >= 0
    for name in ("accuracy", "micro_f1"):
        found = metric(name, answer=Classes(("a", "b", "c"))).of(torch.from_numpy(answers), torch.from_numpy(y))
        if not known.any():
            assert found is None
            continue
        guess = answers.argmax(1)
        assert found == pytest.approx(accuracy_score(y[known], guess[known]))
        assert found == pytest.approx(f1_score(y[known], guess[known], average="micro"))


def test_errors_are_those_of_scikit_learn_in_units_of_each_output() -> None:
    draw = np.random.default_rng(0)
    answers, y, unit = draw.normal(size=(30, 3)), draw.normal(size=(30, 3)), np.array([1.0, 2.0, 5.0])
    pair = torch.from_numpy(answers), torch.from_numpy(y)
    kind = Values(("a", "b", "c"), (0.0,) * 3, (1.0,) * 3)
    assert metric("mae", answer=kind).of(*pair) == pytest.approx(mean_absolute_error(y, answers))
    in_units = metric("mae", answer=kind, unit=torch.from_numpy(unit)).of(*pair)
    assert in_units == pytest.approx(mean_absolute_error(y / unit, answers / unit))
    assert rmse(*pair) == pytest.approx(root_mean_squared_error(y.ravel(), answers.ravel()))
    y[3:20, 1] = np.nan
    known = ~np.isnan(y)
    assert metric("mae").of(torch.from_numpy(answers), torch.from_numpy(y)) == pytest.approx(
        mean_absolute_error(y[known], answers[known])
    )


def test_what_is_undefined_is_no_score() -> None:
    some = column([0.2, 0.8])
    assert roc_auc(some, column([1, 1])) is None
    assert metric("average_precision").of(some, column([0, 0])) is None
    assert metric("accuracy").of(torch.rand(2, 3), torch.tensor([-1, -1])) is None
    assert metric("mae").of(some, column([np.nan, np.nan])) is None
    assert hits(torch.tensor([0.5]), torch.tensor([0.1, 0.2]), k=3) is None
    assert mrr(torch.tensor([]), torch.tensor([0.1])) is None
    assert ranking("roc_auc").of(torch.tensor([0.5]), torch.tensor([])) is None


def test_anything_beats_what_is_undefined_and_direction_counts() -> None:
    high, low = metric("accuracy"), metric("mae")
    assert high.better(0.1, None)
    assert not high.better(None, 0.1)
    assert not high.better(None, None)
    assert high.better(0.2, 0.1)
    assert low.better(0.1, 0.2)
    assert not low.better(0.1, 0.1)


def test_two_classes_are_a_yes_no_answer_about_the_second() -> None:
    answers = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.5, 0.5]], dtype=torch.float64)
    y = torch.tensor([0, 1, 0, -1])
    known = y >= 0
    found = metric("roc_auc", answer=Classes(("a", "b"))).of(answers, y)
    assert found == pytest.approx(roc_auc_score(y[known], answers[known, 1]))


def test_links_have_the_area_under_all_pairs() -> None:
    positive, negative = torch.tensor([0.9, 0.5, 0.5]), torch.tensor([0.5, 0.1])
    y = [1, 1, 1, 0, 0]
    both = torch.cat([positive, negative])
    assert ranking("roc_auc").of(positive, negative) == pytest.approx(roc_auc_score(y, both))
    assert ranking("average_precision").of(positive, negative) == pytest.approx(average_precision_score(y, both))


def test_a_metric_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'accuracy'"):
        metric("acuracy")
    with pytest.raises(InputError, match="not for answers of kind 'value'; use one of mae, rmse"):
        metric("accuracy", answer=Values(("a",), (0.0,), (1.0,)))
    with pytest.raises(InputError, match="not for answers of kind 'class'"):
        metric("roc_auc", answer=Classes(("a", "b", "c")))
    for name in ("hits@0", "hits@", "hits@-1", "mae"):
        with pytest.raises(InputError, match="not known for links"):
            ranking(name)

"""Every metric, written once: `None` means undefined, which is never a score.

Answers are probabilities `[T, K]` of one of K classes (labels `[T]`, −1 where missing) or of K yes/no questions, or K
values (labels `[T, K]`, NaN where missing). Ties count as the Open Graph Benchmark's evaluators count them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from engnn.errors import InputError, nearest
from engnn.tasks.answer import Answer

Score = float | None


@dataclass(frozen=True)
class Metric:
    """A score, and whether more of it is better."""

    name: str
    higher_is_better: bool
    of: Callable[[Tensor, Tensor], Score]

    def better(self, one: Score, other: Score) -> bool:
        """Whether `one` beats `other`; anything beats none.

        >>> metric("mae").better(0.1, 0.2)
        True
        """
        if one is None or other is None:
            return one is not None
        return one > other if self.higher_is_better else one < other


def accuracy(answers: Tensor, y: Tensor) -> Score:
    """The share of known labels that the largest probability names; for yes/no answers, that lie on the right side."""
    if y.dim() == 1:
        known = y >= 0
        right = answers.argmax(-1) == y
    else:
        known = ~y.isnan()
        right = (answers > 0.5) == (y > 0.5)
    return float(right[known].double().mean()) if known.any() else None


def micro_f1(answers: Tensor, y: Tensor) -> Score:
    """F1 of all yes/no answers together; of classes, the accuracy."""
    if y.dim() == 1:
        return accuracy(answers, y)
    known, yes, true = ~y.isnan(), answers > 0.5, y > 0.5
    hit = int((yes & true & known).sum())
    wrong = int(((yes != true) & known).sum())
    return 2 * hit / (2 * hit + wrong) if hit + wrong else None


def mae(answers: Tensor, y: Tensor, *, unit: Tensor | None = None) -> Score:
    """The mean absolute error of the known values, in units of `unit` (a number for each output)."""
    error = (answers - y).abs() if unit is None else (answers - y).abs() / unit
    known = ~y.isnan()
    return float(error[known].double().mean()) if known.any() else None


def rmse(answers: Tensor, y: Tensor, *, unit: Tensor | None = None) -> Score:
    """The root of the mean squared error, likewise."""
    error = (answers - y) if unit is None else (answers - y) / unit
    known = ~y.isnan()
    return float(error[known].double().square().mean().sqrt()) if known.any() else None


def roc_auc(answers: Tensor, y: Tensor) -> Score:
    """How often a yes has a larger probability than a no (half, if equal); a mean over the outputs that have both.

    >>> roc_auc(torch.tensor([[0.9], [0.5], [0.5]]), torch.tensor([[1.0], [1.0], [0.0]]))
    0.75
    """
    return _mean_of_outputs(_auc, answers, y)


def average_precision(answers: Tensor, y: Tensor) -> Score:
    """Precision at each threshold, weighted by the recall it adds; a mean over the outputs that have yes and no."""
    return _mean_of_outputs(_precision, answers, y)


def hits(positive: Tensor, negative: Tensor, *, k: int) -> Score:
    """The share of links above the k-th largest non-link (all of them, or each link's own `[p, k]`).

    Undefined where there are fewer than k non-links.
    """
    if not len(positive) or negative.size(-1) < k:
        return None
    return float((positive > negative.topk(k).values[..., -1]).double().mean())


def mrr(positive: Tensor, negative: Tensor) -> Score:
    """The mean of 1 / rank of a link among the non-links (all of them, or each link's own); equal ones share ranks.

    >>> mrr(torch.tensor([0.5]), torch.tensor([0.9, 0.5]))
    0.4
    """
    if not len(positive) or not negative.size(-1):
        return None
    if negative.dim() == 1:
        ordered = negative.sort().values
        above = len(ordered) - torch.searchsorted(ordered, positive, right=True)
        least = len(ordered) - torch.searchsorted(ordered, positive, right=False)
    else:
        above = (negative > positive[:, None]).sum(1)
        least = (negative >= positive[:, None]).sum(1)
    return float((1 / (1 + 0.5 * (above + least).double())).mean())


def metric(name: str, *, answer: Answer | None = None, unit: Tensor | None = None) -> Metric:
    """The metric of that name, which must make sense of such answers.

    >>> metric("accuracy").higher_is_better
    True
    """
    if name not in _METRICS:
        raise InputError(f"metric {name!r} is not known here; {nearest(name, _METRICS)}")
    of, kinds, higher = _METRICS[name]
    kind = "class" if answer is None else answer.kind
    two = answer is not None and kind == "class" and len(answer.names) == 2 and name in _OF_YES
    if answer is not None and kind not in kinds and not two:
        fit = ", ".join(known for known, (_, fits, _) in _METRICS.items() if kind in fits)
        raise InputError(f"metric {name!r} is not for answers of kind {kind!r}; use one of {fit}")
    if unit is not None and kinds == ("value",):
        of = partial(of, unit=unit)
    return Metric(name, higher, partial(_second_class, of) if two else of)


def ranking(name: str) -> Metric:
    """The metric of that name for links: of probabilities of links and of non-links.

    >>> ranking("hits@2").of(torch.tensor([0.8, 0.3]), torch.tensor([0.9, 0.7, 0.1]))
    0.5
    """
    if found := re.fullmatch(r"hits@([1-9][0-9]{0,8})", name):
        return Metric(name, True, partial(hits, k=int(found[1])))
    if name not in _RANKINGS:
        raise InputError(f"metric {name!r} is not known for links; {nearest(name, [*_RANKINGS, 'hits@20'])}")
    return Metric(name, True, _RANKINGS[name])


def _second_class(of: Callable[[Tensor, Tensor], Score], answers: Tensor, y: Tensor) -> Score:
    return of(answers[:, 1:], torch.where(y < 0, torch.nan, y.double())[:, None])


def _among_links(of: Callable[[Tensor, Tensor], Score], positive: Tensor, negative: Tensor) -> Score:
    negative = negative.reshape(-1)
    y = torch.cat([torch.ones_like(positive), torch.zeros_like(negative)])
    return of(torch.cat([positive, negative])[:, None], y[:, None])


def _mean_of_outputs(of: Callable[[Tensor, Tensor], float], answers: Tensor, y: Tensor) -> Score:
    scores = []
    for answer, true in zip(answers.T, y.T, strict=True):
        known = ~true.isnan()
        yes = true[known] > 0.5
        if yes.any() and not yes.all():
            scores.append(of(answer[known], yes))
    return sum(scores) / len(scores) if scores else None


def _auc(answers: Tensor, yes: Tensor) -> float:
    _, place, count = torch.unique(answers, return_inverse=True, return_counts=True)
    rank = (count.cumsum(0) - (count - 1).double() / 2)[place]  # from 1; equal answers share the mean of their ranks
    positives = int(yes.sum())
    below = float(rank[yes].sum()) - positives * (positives + 1) / 2
    return below / (positives * (len(yes) - positives))


def _precision(answers: Tensor, yes: Tensor) -> float:
    _, place = torch.unique(-answers, return_inverse=True)  # thresholds from the largest answer down
    above = torch.bincount(place).cumsum(0)
    found = torch.bincount(place, weights=yes.double())
    return float((found * found.cumsum(0) / above).sum() / found.sum())


_METRICS: dict[str, tuple[Callable[..., Score], tuple[str, ...], bool]] = {
    "accuracy": (accuracy, ("class", "binary"), True),
    "micro_f1": (micro_f1, ("class", "binary"), True),
    "roc_auc": (roc_auc, ("binary",), True),
    "average_precision": (average_precision, ("binary",), True),
    "mae": (mae, ("value",), False),
    "rmse": (rmse, ("value",), False),
}
_OF_YES = ("roc_auc", "average_precision")  # these take two classes as a yes/no answer
_RANKINGS: dict[str, Callable[[Tensor, Tensor], Score]] = {
    "mrr": mrr,
    "roc_auc": partial(_among_links, roc_auc),
    "average_precision": partial(_among_links, average_precision),
}

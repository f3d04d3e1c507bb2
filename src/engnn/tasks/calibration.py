"""How far probabilities can be believed, and how much an answer depends on the draw of the noise."""

from __future__ import annotations

import torch
from torch import Tensor

BINS = 15  # of the expected calibration error


def calibration(answers: Tensor, y: Tensor) -> dict[str, float | None]:
    """NLL, Brier score and expected calibration error of probabilities `[T, K]`; none where no label is known.

    `y` is `[T]` classes (−1: missing) or `[T, K]` yes/no answers (NaN: missing), of which each counts by itself.

    >>> sure = calibration(torch.tensor([[1.0, 0.0]]).double(), torch.tensor([0]))
    >>> sure["brier"], sure["ece"]
    (0.0, 0.0)
    """
    if y.dim() == 1:
        answers, y = answers[y >= 0], y[y >= 0]
        chosen = answers.gather(1, y[:, None]).flatten()
        confidence, label = answers.max(1)
        right = label == y
        brier = (answers - torch.nn.functional.one_hot(y, answers.size(1))).square().sum(1)
    else:
        known = ~y.isnan()
        answers, yes = answers[known], y[known] > 0.5
        chosen = torch.where(yes, answers, 1 - answers)
        confidence = torch.maximum(answers, 1 - answers)
        right = (answers > 0.5) == yes
        brier = (answers - yes.double()).square()
    if not len(right):
        return {"nll": None, "brier": None, "ece": None}
    nll = -chosen.clamp(min=torch.finfo(torch.float64).tiny).log()
    return {"nll": float(nll.mean()), "brier": float(brier.mean()), "ece": _ece(confidence, right)}


def entropy(answers: Tensor, kind: str) -> Tensor | None:
    """The entropy in nats of the classes' probabilities; of yes/no answers, its mean over outputs; none of values.

    >>> round(float(entropy(torch.full((1, 2), 0.5), "class")), 3)
    0.693
    """
    if kind == "value":
        return None
    if kind == "class":
        return torch.Tensor.sum(torch.special.entr(answers), 1)
    return torch.Tensor.mean(torch.special.entr(answers) + torch.special.entr(1 - answers), 1)


def _ece(confidence: Tensor, right: Tensor) -> float:
    """Σ over bins of |share that is right − mean confidence|, weighted by the bin's share."""
    place = (confidence * BINS).long().clamp(max=BINS - 1)
    gap = torch.bincount(place, weights=right.double() - confidence, minlength=BINS)
    return float(gap.abs().sum() / len(right))

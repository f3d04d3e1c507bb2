"""What a trained model is worth: its score, how far to believe its probabilities, how much hangs on the draw."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from engnn.data.dataset import PARTS, Dataset
from engnn.errors import InputError, nearest
from engnn.tasks.calibration import calibration
from engnn.tasks.metrics import Score
from engnn.tasks.task import EVERYTHING
from engnn.train.answers import Running, one_draw
from engnn.train.processes import Processes
from engnn.train.trained import Trained

LEAST, MOST = 4, 256  # draws, when their number is found
ENOUGH = 0.1  # the share of the sampling error that the standard error over draws must come under
RESAMPLES = 50


def evaluate(model: Trained, dataset: Dataset, *, part: str = "test", draws: int | Literal["auto"]) -> dict[str, Any]:
    """Scores on a part of a dataset, as plain JSON values; what is undefined is None.

    `at_1` are means over single draws; `at_R` is of the answers averaged over all R draws. `label_flip_rate` is how
    often a single draw's label differs from that of the averaged answer.

    Two errors stand beside the score: `standard_error`, how far it depends on the draws (the deviation of the metric
    over single draws, divided by √R); and `sampling_error`, how far it depends on which targets happened to be there
    (a bootstrap over the targets). `auto` doubles R until the first is under a tenth of the second: more draws would
    then say nothing that the data could confirm.
    """
    task, seed = model.task(dataset), model.about["seed"]
    if not task.has(part):
        known = [name for name in (*PARTS, EVERYTHING) if task.has(name)]
        raise InputError(f"{dataset.name} has no part {part!r}; {nearest(part, known)}")
    y = task.truth(part)
    if y is None:
        raise InputError(f"{dataset.name} has no labels, so there is nothing to score: use engnn predict")
    batches = task.part(part, model.about["batch_size"], share=Processes().share)
    running, singles, labels, beliefs = Running(), [], [], []
    wanted = LEAST if draws == "auto" else draws
    while True:
        while running.draws < wanted:
            answers = one_draw(model.model, task, batches, seed=seed, draw=running.draws, processes=Processes())
            running.add(answers)
            singles.append(task.score(part, answers))
            labels.append(task.answer.labels(answers))
            beliefs.append(_belief(task.answer.kind, answers, y))
        mean = running.now().mean
        error = _deviation(singles, divided_by=math.sqrt(running.draws))
        sampling = _deviation([task.resampled(part, mean, number) for number in range(RESAMPLES)])
        enough = error is not None and sampling is not None and error <= ENOUGH * sampling
        if draws != "auto" or enough or wanted >= MOST:
            break
        wanted *= 2
    final = task.answer.labels(mean)
    flips = None if final is None else sum(_share(label, final) for label in labels) / len(labels)
    return {
        "dataset": dataset.name,
        "part": part,
        "targets": batches.total,
        "metric": task.metric.name,
        "higher_is_better": task.metric.higher_is_better,
        "score": task.score(part, mean),
        "draws": running.draws,
        "standard_error": error,
        "sampling_error": sampling,
        "converged": enough,
        "label_flip_rate": flips,
        "at_1": {"score": _mean(singles), **{key: _mean([one[key] for one in beliefs]) for key in beliefs[0]}},
        "at_R": {"score": task.score(part, mean), **_belief(task.answer.kind, mean, y)},
    }


def _belief(kind: str, answers: Tensor, y: Tensor) -> dict[str, float | None]:
    if kind == "value":
        return {"nll": None, "brier": None, "ece": None}
    return calibration(answers, y)


def _share(label: Tensor | None, final: Tensor) -> float:
    return 0.0 if label is None else float((label != final).double().mean())


def _mean(scores: list[Score]) -> Score:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


def _deviation(scores: list[Score], *, divided_by: float = 1.0) -> float | None:
    """The standard deviation of the scores that are defined, of which there must be two."""
    known = torch.tensor([score for score in scores if score is not None], dtype=torch.float64)
    return None if len(known) < 2 else float(known.std()) / divided_by

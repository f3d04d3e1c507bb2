"""Which figures a run is shown by, and what each says in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from engnn.report import charts
from engnn.report.answers import Classes, Numbers, Output, Values, YesNo
from engnn.report.charts import number
from engnn.report.run import Epoch, Run

MOST_CLASSES = 20  # rows of a confusion matrix
MOST_OUTPUTS = 12  # of a run whose figures are drawn
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class Figure:
    """A chart, its title and caption, and its legend."""

    title: str
    chart: Markup
    caption: str
    legend: list[tuple[Markup, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Confusion:
    """How often each class (a row) got each answer (a column): counts, and shares of the row."""

    names: list[str]
    rows: list[list[tuple[int, float]]]
    right: int
    known: int


def training(run: Run) -> list[Figure]:
    """The course of a run: loss, validation, learning rate."""
    metric = run.record.metric if run.record else "metric"
    drawn = [
        _course(run.epochs, "Training loss", "loss", lambda epoch: epoch.loss, log=True),
        _course(run.epochs, f"Validation: {metric}", metric, lambda epoch: epoch.valid),
        _course(run.epochs, "Learning rate", "learning rate", lambda epoch: epoch.learning_rate),
    ]
    return [figure for figure in drawn if figure]


def _course(
    epochs: Sequence[Epoch], title: str, label: str, of: Callable[[Epoch], float | None], *, log: bool = False
) -> Figure | None:
    points = [(float(epoch.epoch), value) for epoch in epochs if (value := of(epoch)) is not None]
    if not points:
        return None
    values = [value for _, value in points]
    (first, start), (last, end) = points[0], points[-1]
    caption = f"From {number(start)} at epoch {first:.0f} to {number(end)} at epoch {last:.0f}; "
    caption += f"lowest {number(min(values))}, highest {number(max(values))}."
    log = log and min(values) > 0 and max(values) > 20 * min(values)
    return Figure(title, charts.lines([("", points)], "epoch", label, f"{title}. {caption}", log=log), caption)


def comparisons(runs: Sequence[Run]) -> list[Figure]:
    """Runs on the same data and metric, one over the other."""
    alike: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.record:
            alike.setdefault((run.record.dataset, run.record.task, run.record.metric), []).append(run)
    found = []
    for (dataset, task, metric), group in alike.items():
        series = [(run.name, [(float(e.epoch), e.valid) for e in run.epochs if e.valid is not None]) for run in group]
        series = [(name, points) for name, points in series if points]
        if len(series) > 1:
            caption = f"Validation {metric} by epoch, on {dataset} ({task})."
            chart = charts.lines(series, "epoch", metric, f"{caption} {len(series)} runs: {_names(series)}.")
            legend = [(charts.swatch(place), name) for place, (name, _) in enumerate(series)]
            found.append(Figure(f"{dataset}: validation", chart, caption, legend))
    return found


def _names(series: Sequence[tuple[str, object]]) -> str:
    return ", ".join(name for name, _ in series)


def answers(run: Run) -> list[Figure]:
    """What the test answers look like, by their kind."""
    match run.answers:
        case Classes() as classes if len(classes.answer):
            return _classes(classes)
        case YesNo(outputs) if len(outputs[0].answer):
            return _yes_no(outputs)
        case Values(outputs) if len(outputs[0].answer):
            return [figure for output in outputs[:MOST_OUTPUTS] for figure in _value(output, alone=len(outputs) == 1)]
    return []


def confusion(classes: Classes) -> Confusion | None:
    """Truth against answer; beyond `MOST_CLASSES` the rarer classes are one."""
    known = classes.known
    if not known.any():
        return None
    truth, answer, names = classes.truth[known], classes.answer[known], classes.names
    right = int((truth == answer).sum())
    if len(names) > MOST_CLASSES:
        common = np.argsort(-np.bincount(truth, minlength=len(names)), kind="stable")[: MOST_CLASSES - 1]
        place = np.full(len(names), len(common))
        place[np.sort(common)] = np.arange(len(common))
        truth, answer = place[truth], place[answer]
        names = [names[one] for one in np.sort(common)] + [f"{len(names) - len(common)} rarer classes"]
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, (truth, answer), 1)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    rows = [list(zip(*pair, strict=True)) for pair in zip(counts.tolist(), shares.tolist(), strict=True)]
    return Confusion(names, rows, right, int(known.sum()))


def _classes(classes: Classes) -> list[Figure]:
    known = classes.known
    figures = []
    if known.any():
        right = (classes.truth == classes.answer)[known].astype(float)
        figures.append(_reliability(classes.confidence[known], right, "right", "The answer's probability"))
        parts = [("right", classes.entropy[known][right == 1]), ("wrong", classes.entropy[known][right == 0])]
    else:
        parts = [("all", classes.entropy)]
    what = "of the probabilities: 0 where the model is sure of one class"
    figures.append(_distribution("Entropy", parts, "entropy (nats)", what))
    what = "of the answer's probability over noise draws"
    figures.append(_distribution("Spread over draws", [("all", classes.spread)], "standard deviation", what))
    return figures


def _yes_no(outputs: Sequence[Output]) -> list[Figure]:
    answer, spread, truth = (
        np.concatenate([getattr(output, part) for output in outputs]) for part in ("answer", "spread", "truth")
    )
    known = ~np.isnan(truth)
    figures = []
    parts = [("all", answer)]
    if known.any():
        figures.append(_reliability(answer[known], truth[known], "yes", "The probability of yes"))
        parts = [("truly yes", answer[known & (truth == 1)]), ("truly no", answer[known & (truth == 0)])]
    figures.append(_distribution("Probability of yes", parts, "probability of yes", "given on the test part"))
    what = "of that probability over noise draws"
    figures.append(_distribution("Spread over draws", [("all", spread)], "standard deviation", what))
    return figures


def _value(output: Output, *, alone: bool) -> list[Figure]:
    name = "" if alone else f"{output.name}: "
    figures = []
    known = output.known
    if known.any():
        truth, answer, spread = output.truth[known], output.answer[known], output.spread[known]
        caption = f"{len(truth):,} targets; mean absolute error {number(float(np.abs(truth - answer).mean()))}. "
        caption += "Bars are one standard deviation over noise draws, which is not the whole error."
        if len(truth) > charts.MOST_POINTS:
            caption += f" {charts.MOST_POINTS:,} of them are drawn, chosen at random."
        title = f"{name}prediction against truth"
        chart = charts.scatter(truth, answer, spread, f"{title}. {caption}")
        figures.append(Figure(title[0].upper() + title[1:] if alone else title, chart, caption))
    title = "Spread over draws" if alone else f"{name}spread over draws"
    what = "of the answer over noise draws"
    figures.append(_distribution(title, [("all", output.spread)], "standard deviation", what))
    return figures


def _distribution(title: str, parts: Sequence[tuple[str, Numbers]], x: str, what: str) -> Figure:
    parts = [(name, values) for name, values in parts if len(values)]
    means = "; ".join(
        f"{'' if name == 'all' else name + ': '}mean {number(float(values.mean()))} over {len(values):,}"
        for name, values in parts
    )
    caption = f"{x[0].upper()}{x[1:]} {what}. {means[0].upper()}{means[1:]}."
    legend = [
        (charts.swatch(place, filled=place == 0), name) for place, (name, _) in enumerate(parts) if len(parts) > 1
    ]
    return Figure(title, charts.histogram(parts, x, f"{title}. {caption}"), caption, legend)


def _reliability(given: Numbers, held: Numbers, event: str, what: str) -> Figure:
    place = np.minimum((given * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    inside = [place == one for one in range(RELIABILITY_BINS)]
    bins = [(float(given[one].mean()), float(held[one].mean()), int(one.sum())) for one in inside if one.any()]
    caption = (
        f"{what} against how often it was {event}, in {RELIABILITY_BINS} bins; on the line it can be taken at its "
    )
    caption += f"word. On average {given.mean():.1%} given, {held.mean():.1%} {event}, over {len(given):,}."
    return Figure("Reliability", charts.reliability(bins, f"Reliability. {caption}"), caption)

"""The page: everything that runs and records say, in one HTML file that asks for nothing from anywhere."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

import engnn
from engnn.errors import InputError
from engnn.report import charts, figures
from engnn.report.answers import Classes, Values, YesNo
from engnn.report.record import PARTS, Record, flat, groups, read_records
from engnn.report.run import Epoch, Run, read_run

MOST_EPOCHS = 60  # rows of the table of epochs


@dataclass(frozen=True)
class _Outputs:
    """A table with a row for each output of a model."""

    note: str
    columns: Sequence[str]
    rows: list[tuple[str, list[str]]]


def report(sources: Sequence[Path], out: Path) -> Path:
    """Write the page about `sources` (run folders, record files, folders of record files) to `out`."""
    text = page(sources)
    try:
        if out.is_dir():
            raise InputError(f"{out} is a folder: give --out the name of a file in it, such as {out / 'report.html'}")
        handle, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with open(handle, "w", encoding="utf-8", errors="xmlcharrefreplace") as file:
                file.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, out)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): give --out another place") from None
    return out


def page(sources: Sequence[Path]) -> str:
    """The page about `sources`, as HTML."""
    runs, records, record_files = _read(sources)
    chosen = groups(records)
    anchors = [f"run-{place}" for place in range(1, len(runs) + 1)]
    sections = [("summary", "Summary")] if len(runs) > 1 else []
    sections += [("records", "Records")] if record_files else []
    sections += [(anchor, run.name) for anchor, run in zip(anchors, runs, strict=True)]
    return _template().render(
        title=_title(runs, record_files),
        style=resources.files("engnn.report").joinpath("page.css").read_text(encoding="utf-8").strip(),
        sections=sections,
        alone=len(sections) == 1,
        runs=[_shown(anchor, run) for anchor, run in zip(anchors, runs, strict=True)],
        comparisons=figures.comparisons(runs),
        groups=chosen,
        record_files=record_files,
        left_out=sum(not record.complete for record in records),
        parts=PARTS,
        version=engnn.__version__,
    )


def _read(sources: Sequence[Path]) -> tuple[list[Run], list[Record], int]:
    runs, records, files = [], [], 0
    for source in sources:
        inside = sorted(source.glob("*.jsonl")) if source.is_dir() and not (source / "config.yaml").exists() else []
        if source.suffix == ".jsonl":
            inside = [source]
        elif not source.exists():
            raise InputError(f"there is no {source}: give the folder of a run, or a file of records (.jsonl)")
        elif not source.is_dir():
            raise InputError(f"{source} is neither the folder of a run nor a file of records (.jsonl)")
        if "metrics.jsonl" in {path.name for path in inside} or not inside:
            runs.append(read_run(source))
            continue
        files += len(inside)
        records += [record for path in inside for record in read_records(path)]
    return runs, records, files


def _title(runs: Sequence[Run], record_files: int) -> str:
    if len(runs) == 1 and not record_files:
        return runs[0].name
    counts = [(len(runs), "run", "runs"), (record_files, "file of records", "files of records")]
    return " and ".join(f"{count} {one if count == 1 else more}" for count, one, more in counts if count)


def _shown(anchor: str, run: Run) -> dict[str, Any]:
    """A run as the template speaks of it."""
    record = run.record
    return {
        "anchor": anchor,
        "name": run.name,
        "config": run.config,
        "record": record,
        "epochs": run.epochs,
        "some_epochs": _some(run.epochs),
        "seconds": record.seconds if record else run.epochs[-1].seconds,
        "state": "unfinished" if record is None else "complete" if record.complete else "incomplete",
        "model": _model(record) if record else "",
        "metric": _metric(record) if record else "",
        "tiles": _tiles(run),
        "training": figures.training(run),
        "answers": run.answers is not None,
        "figures": figures.answers(run),
        "confusion": figures.confusion(run.answers) if isinstance(run.answers, Classes) else None,
        "outputs": _outputs(run.answers),
        "environment": _environment(record) if record else [],
    }


def _some(epochs: Sequence[Epoch]) -> list[Epoch]:
    """Some epochs, evenly spread, the first and the last among them."""
    places = np.unique(np.linspace(0, len(epochs) - 1, min(len(epochs), MOST_EPOCHS)).round().astype(int))
    return [epochs[place] for place in places]


def _tiles(run: Run) -> list[tuple[str, str, str]]:
    record, last = run.record, run.epochs[-1]
    if record is None:
        valid = [epoch.valid for epoch in run.epochs if epoch.valid is not None]
        shown = [("Epochs so far", f"{last.epoch:,}", ""), ("Time", _duration(last.seconds), "")]
        return [*shown, ("Latest validation", _score(valid[-1] if valid else None), "")]
    better = "higher is better" if record.higher_is_better else "lower is better"
    names = {"test": "Test", "valid": "Validation", "train": "Training"}
    shown = [(f"{name} {record.metric}", _score(record.scores[part]), better) for part, name in names.items()]
    shown += [("Epochs", f"{record.epochs:,}", ""), ("Time", _duration(record.seconds), "")]
    if isinstance(parameters := record.whole.get("parameters"), int):
        shown.append(("Parameters", f"{parameters:,}", ""))
    if isinstance(peak := record.whole.get("peak_memory_bytes"), int):
        shown.append(("Peak memory", f"{peak / 2**20:,.0f} MiB", ""))
    return [*shown, ("Draws averaged", f"{record.draws:,}", "")]


def _outputs(answers: Classes | Values | YesNo | None) -> _Outputs | None:
    def known(numbers: Sequence[float] | np.ndarray[Any, Any], digits: int = 4) -> str:
        return charts.number(float(np.mean(numbers)), digits) if len(numbers) else "–"

    if isinstance(answers, Values) and len(answers.outputs) > 1:
        rows = [
            (
                one.name,
                [
                    f"{one.known.sum():,}",
                    known(np.abs(one.answer - one.truth)[one.known]),
                    known(one.spread),
                ],
            )
            for one in answers.outputs
        ]
        return _Outputs("Errors are in the unit of each output.", ("Known", "Mean absolute error", "Mean spread"), rows)
    if isinstance(answers, YesNo):
        rows = []
        for one in answers.outputs:
            yes, said = one.truth[one.known] == 1, one.answer[one.known] >= 0.5
            counts = [len(yes), yes.sum(), (yes & said).sum(), (yes & ~said).sum(), (~yes & said).sum()]
            rows.append((one.name, [f"{count:,}" for count in counts] + [known(one.spread)]))
        return _Outputs(
            "Yes is what was given 0.5 or more.",
            ("Known", "Truly yes", "Found", "Missed", "False alarms", "Mean spread"),
            rows,
        )
    return None


def _environment(record: Record) -> list[tuple[str, str]]:
    found = {key: record.whole.get(key) for key in ("hardware", "versions", "revision")}
    return [(key, "–" if value in (None, "", {}) else str(value)) for key, value in flat(found).items()]


def _model(of: Record) -> str:
    return of.model if of.variant in ("", of.model) else f"{of.model} ({of.variant})"


def _metric(of: Record) -> str:
    return f"{of.metric} {'↑' if of.higher_is_better else '↓'}"


def _score(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}".replace("-", "−") if value == 0 or 1e-3 <= abs(value) < 1e3 else charts.number(value)


def _duration(seconds: float | None) -> str:
    """Seconds as people say them.

    >>> _duration(0.25), _duration(75), _duration(7260)
    ('0.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "score": _score,
        "short": lambda value: "–" if value is None else charts.number(value),
        "duration": _duration,
        "model": _model,
        "metric": _metric,
        "json": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    }
    return environment.from_string(resources.files("engnn.report").joinpath("page.html").read_text(encoding="utf-8"))

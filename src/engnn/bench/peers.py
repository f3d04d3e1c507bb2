"""ENGNN against every baseline of the package that answers for graphs: a training step on a batch of ZINC."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from engnn.bench.epoch import BATCH, DATA, LAYERS, trainer
from engnn.bench.machine import Step, interleaved, machine, peak_bytes
from engnn.data.catalog import open_dataset
from engnn.errors import InputError
from engnn.tasks import task_of
from engnn.tasks.batch import WHOLE
from engnn.train.config import ModelConfig
from engnn.train.models import arguments, build, names


def run(repetitions: int) -> dict[str, Any]:
    """A step of each, taken in turn."""
    torch.manual_seed(0)
    task = task_of(open_dataset(DATA))
    batch = task.epoch(1, BATCH, seed=0, share=WHOLE)[0]
    steps: dict[str, Step] = {}
    refused: dict[str, str] = {}
    for name in names():
        try:
            step = trainer(build(name, arguments(ModelConfig(name=name, layers=LAYERS), task)), task)
        except InputError as error:
            refused[name] = str(error)
            continue
        steps[name] = partial(step, batch)
    peaks = {name: peak_bytes(step) for name, step in steps.items()}
    times = interleaved(steps, repetitions)
    rows = [
        {
            "model": name,
            "seconds": asdict(taken),
            "times_engnn": taken.processor_best / times["engnn"].processor_best,
            "peak_bytes": peaks[name],
        }
        for name, taken in times.items()
    ]
    sizes = {"data": DATA, "provenance": task.dataset.provenance, "batch": BATCH, "layers": LAYERS}
    return {"bench": "peers", **machine(), **sizes, "rows": rows, "not_for_graphs": refused}


def table(result: dict[str, Any]) -> Iterable[list[str]]:
    """What people read."""
    yield ["model", "ms", "median", "× engnn", "peak MB"]
    for row in result["rows"]:
        times = [f"{row['seconds'][key] * 1e3:.1f}" for key in ("processor_best", "processor_median")]
        peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
        yield [row["model"], *times, f"{row['times_engnn']:.2f}", peak]
    for name in result["not_for_graphs"]:
        yield [name, "not for graphs", "", "", ""]

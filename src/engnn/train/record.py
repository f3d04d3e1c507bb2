"""What is put on record of a run: its scores, and all that is needed to judge and to repeat it."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import engnn
from engnn.tasks.metrics import Score
from engnn.train.durable import append_line
from engnn.train.loop import Training

PACKAGES = ("torch", "torch_geometric", "numpy", "safetensors")


def record(training: Training, scores: dict[str, Score]) -> dict[str, Any]:
    """The record of a run that is complete, as plain JSON values."""
    dataset, config, now = training.task.dataset, training.config, training.now
    return {
        "dataset": dataset.name,
        "provenance": dataset.provenance,
        "task": training.task.level,
        "split": dataset.split_name,
        "model": config.model.name,
        "variant": config.model.variant,
        "config": asdict(config),
        "seed": config.seed,
        "metric": training.task.metric.name,
        "higher_is_better": training.task.metric.higher_is_better,
        "scores": {part: scores.get(part) for part in ("train", "valid", "test")},
        "draws": config.draws,
        "epochs": now.epoch,
        "best_epoch": now.best_epoch or now.epoch,
        "steps": now.step,
        "seconds": round(now.seconds, 3),
        "peak_memory_bytes": peak_memory(training.task.device),
        "parameters": sum(one.numel() for one in training.model.parameters()),
        "hardware": hardware(training.task.device),
        "versions": versions(),
        "revision": revision(),
        "complete": now.done,
    }


def append(path: Path, said: dict[str, Any]) -> None:
    """Add a record to a file of them, one a line, which other processes may be adding to."""
    append_line(path, json.dumps(said, allow_nan=False))


def peak_memory(device: torch.device) -> int:
    """The most bytes that this process held at once; on a CUDA device, the most it had there."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def hardware(device: torch.device) -> dict[str, Any]:
    """The machine, as far as it matters to time and rounding."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Versions of what computes."""
    found = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "engnn": engnn.__version__, **found}


@cache
def revision() -> str | None:
    """The commit of the checkout that this package is in, `+` after it where files differ; none where there is none."""
    here = Path(__file__).parent
    git = ["git", "-C", str(here)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        tracked = subprocess.run(
            [*git, "ls-files", "--error-unmatch", __file__], capture_output=True, text=True, check=False
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no", "--", ":/src"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + "+" * bool(changed) if tracked.returncode == 0 else None


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())

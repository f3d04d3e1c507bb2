"""How time and memory are measured, and on what machine.

Things to be compared are run in turn, again and again, so that whatever else the machine does falls on all of them; the
best and the median of each are kept. Beside seconds of the clock stand seconds of the processor, in which what other
programs take is not counted: ratios are of the best of these, within one run.
"""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engnn import kernels
from engnn.train.record import hardware, revision, versions

Step = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds of one thing, of so many repetitions: of the clock, and of the processor (by all threads together)."""

    best: float
    median: float
    processor_best: float
    processor_median: float
    repetitions: int


def interleaved(steps: Mapping[str, Step], repetitions: int) -> dict[str, Timing]:
    """Seconds of every step, all taken in turn, after one turn that does not count.

    >>> interleaved({"nothing": lambda: None}, 3)["nothing"].repetitions
    3
    """
    clock: dict[str, list[float]] = {name: [] for name in steps}
    processor: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(repetitions + 1):
        for name, step in steps.items():
            start, began = time.perf_counter(), time.process_time()
            step()
            if turn:
                processor[name].append(time.process_time() - began)
                clock[name].append(time.perf_counter() - start)
        say(f"turn {turn} of {repetitions}")
    return {name: Timing(*_ends(clock[name]), *_ends(processor[name]), repetitions) for name in steps}


def _ends(seconds: list[float]) -> tuple[float, float]:
    return min(seconds), statistics.median(seconds)


def saved_bytes(forward: Step) -> int:
    """The bytes that autograd keeps of a forward pass for the backward pass, what is kept twice counted once.

    >>> x = torch.ones(8, requires_grad=True)
    >>> saved_bytes(lambda: x.exp())
    32
    """
    kept: dict[int, int] = {}
    held: list[Tensor] = []  # nothing is freed meanwhile, so that no place is used twice

    def keep(tensor: Tensor) -> Tensor:
        held.append(tensor)
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward()
    return sum(kept.values())


def peak_bytes(step: Step) -> int | None:
    """How much the process's memory grows at most while a step runs; None where the system does not tell."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return None

    def read(field: str) -> int:
        line = next(line for line in status.read_text().splitlines() if line.startswith(field))
        return int(line.split()[1]) * 1024

    step()  # what a first call sets up is not the step's
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # what earlier steps gave back would hide what this one takes
    clear.write_text("5")
    before = read("VmRSS")
    step()
    return read("VmHWM") - before


@contextmanager
def ways(name: str) -> Iterator[None]:
    """Kernels as `$ENGNN_KERNELS` would have them."""
    before = os.environ.get("ENGNN_KERNELS")
    os.environ["ENGNN_KERNELS"] = name
    try:
        yield
    finally:
        os.environ.pop("ENGNN_KERNELS")
        if before is not None:
            os.environ["ENGNN_KERNELS"] = before


def machine() -> dict[str, Any]:
    """What a measurement was taken on, of which revision, by which kernels."""
    cpu = torch.device("cpu")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    kernel = kernels.status()
    return {
        "hardware": {**hardware(cpu), "load": load},
        "versions": versions(),
        "revision": revision(),
        "kernels": {"name": kernel.name, "torch_cpu": torch.backends.cpu.get_cpu_capability()},
    }


def say(what: str) -> None:
    """A line that changes, for whoever looks on."""
    if sys.stderr.isatty():
        print(f"\r{what:<60}", end="", file=sys.stderr, flush=True)

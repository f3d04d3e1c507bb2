"""What each way to save memory costs: a training step of ENGNN (C=L=16, d=64, six layers) on a batch like ZINC's."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engnn.bench.layers import EDGE_DIM, Batch, Setting
from engnn.bench.machine import Step, interleaved, machine, peak_bytes, saved_bytes, ways
from engnn.nn.model import ENGNN

KNOBS = {
    "plain torch (ENGNN_KERNELS=off)": ("off", False, False),
    "operators in chunks (ENGNN_KERNELS=torch)": ("torch", False, False),
    "kernels": ("auto", False, False),
    "kernels, recompute=True": ("auto", True, False),
    "kernels, bf16 autocast": ("auto", False, True),
}


def run(repetitions: int, setting: Setting = Setting()) -> dict[str, Any]:  # noqa: B008 (frozen)
    """Each in turn."""
    given = Batch.of(setting)
    model = partial(ENGNN, setting.hidden, setting.hidden, 1, setting.layers, edge_dim=EDGE_DIM)
    model = partial(model, noise_channels=setting.noise_channels, noise_dim=setting.noise_dim)
    forwards: dict[str, Step] = {}
    both: dict[str, Step] = {}
    for name, (way, recompute, half) in KNOBS.items():
        torch.manual_seed(0)
        net = model(recompute=recompute)
        forwards[name] = partial(_step, net, given, way, half, False)
        both[name] = partial(_step, net, given, way, half, True)
    saved = {name: saved_bytes(step) for name, step in forwards.items()}
    peaks = {name: peak_bytes(step) for name, step in both.items()}
    times = interleaved(both, repetitions)
    rows = [
        {
            "knob": name,
            "seconds": asdict(times[name]),
            "times_kernels": times[name].processor_best / times["kernels"].processor_best,
            "saved_bytes": saved[name],
            "peak_bytes": peaks[name],
        }
        for name in KNOBS
    ]
    return {"bench": "knobs", **machine(), "setting": asdict(setting), "rows": rows}


def table(result: dict[str, Any]) -> Iterable[list[str]]:
    """What people read."""
    yield ["knob", "ms", "× kernels", "saved MB", "peak MB"]
    for row in result["rows"]:
        peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
        yield [
            row["knob"],
            f"{row['seconds']['processor_best'] * 1e3:.1f}",
            f"{row['times_kernels']:.2f}",
            f"{row['saved_bytes'] / 1e6:.0f}",
            peak,
        ]


def _step(net: ENGNN, given: Batch, way: str, half: bool, back: bool) -> Tensor:
    with ExitStack() as held:
        held.enter_context(ways(way))
        if half:
            held.enter_context(torch.autocast("cpu", torch.bfloat16))
        net.zero_grad()
        out: Tensor = net(
            given.x, given.edge_index, edge_attr=given.edge_attr, batch=given.batch, noise=0, size=given.size
        )
        if back:
            out.float().sum().backward()  # type: ignore[no-untyped-call]
    return out

"""How time and memory grow: with the edges, which is claimed to be linear, and with C and L; and one large graph.

Nodes grow with the edges, five edges a node. The exponent is the slope of a line through the logarithms of the larger
half of the sizes; 1 is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from engnn.bench.layers import EDGE_DIM, Batch, Noisy, Setting
from engnn.bench.machine import interleaved, machine, peak_bytes, say
from engnn.nn.conv import ENConv
from engnn.nn.model import ENGNN

SMALL = Setting(noise_channels=8, noise_dim=8, hidden=32, graphs=1, layers=1)
EDGES = tuple(10**power for power in range(3, 8))
CHANNELS, WIDTHS = (4, 8, 16, 32, 64), (4, 8, 16, 32, 64)
LARGE_EDGES, LARGE_NODES, LIMIT = 10**6, 2 * 10**5, 10 * 10**9


def run(repetitions: int, edges: Sequence[int] = EDGES) -> dict[str, Any]:
    """The three sweeps, and the large graph."""
    over: dict[str, list[Setting]] = {
        "edges": [replace(SMALL, edges=m, nodes=max(1, m // 5)) for m in edges],
        "noise_channels": [replace(SMALL, edges=20_000, nodes=4_000, noise_channels=size) for size in CHANNELS],
        "noise_dim": [replace(SMALL, edges=20_000, nodes=4_000, noise_dim=size) for size in WIDTHS],
    }
    sweeps = {name: sweep(name, settings, repetitions) for name, settings in over.items()}
    return {"bench": "growth", **machine(), "sweeps": sweeps, "large": large()}


def sweep(name: str, settings: Sequence[Setting], repetitions: int) -> dict[str, Any]:
    """A layer, forward and backward, in each setting; the large ones only once."""
    rows = []
    for setting in settings:
        say(f"{name} {getattr(setting, name):,}")
        given = Batch.of(setting)
        widths = (setting.hidden, setting.hidden, setting.noise_dim, setting.noise_dim)
        model = Noisy(partial(ENConv, *widths, edge_dim=EDGE_DIM), setting.layers)

        def step(model: nn.Module = model, given: Batch = given) -> None:
            model.zero_grad()
            model(given).backward()

        peak = peak_bytes(step)
        taken = interleaved({"step": step}, repetitions if setting.edges <= 10**5 else 1)["step"]
        rows.append({name: getattr(setting, name), "seconds": asdict(taken), "peak_bytes": peak})
    sizes = [row[name] for row in rows]
    bests = [row["seconds"]["processor_best"] for row in rows]
    return {
        "base": asdict(SMALL),
        "rows": rows,
        "exponent_seconds": exponent(sizes, bests),
        "exponent_bytes": exponent(sizes, [row["peak_bytes"] or 0 for row in rows]),
    }


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The slope through the larger half, on logarithms.

    >>> round(exponent([1, 10, 100, 1000], [9, 9, 200, 20000]), 6)
    2.0
    """
    half = min(len(sizes) // 2, len(sizes) - 2)
    if not all(values[half:]):
        return None
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def large() -> dict[str, Any]:
    """One training step of three layers (d=64, C=L=16) on a graph of 10⁶ edges and 2·10⁵ nodes."""
    say("the large graph")
    torch.manual_seed(0)
    edge_index = torch.randint(LARGE_NODES, (2, LARGE_EDGES // 2))
    edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    model = ENGNN(0, 64, 2, 3, noise_channels=16, noise_dim=16, level="node")
    optimiser = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimiser.zero_grad()
        model(None, edge_index, noise=0, num_nodes=LARGE_NODES).square().mean().backward()
        optimiser.step()

    peak = peak_bytes(step)
    taken = interleaved({"step": step}, 1)["step"]
    under = None if peak is None else peak < LIMIT
    return {
        "edges": LARGE_EDGES,
        "nodes": LARGE_NODES,
        "seconds": asdict(taken),
        "peak_bytes": peak,
        "under_10_GB": under,
    }


def table(result: dict[str, Any]) -> Iterable[list[str]]:
    """What people read."""
    yield ["growing", "size", "ms", "peak MB", "exponent of time", "of memory"]
    for name, one in result["sweeps"].items():
        for last, row in zip([*[False] * (len(one["rows"]) - 1), True], one["rows"], strict=True):
            peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
            fitted = [one["exponent_seconds"], one["exponent_bytes"]] if last else [None, None]
            shown = ["" if slope is None else f"{slope:.2f}" for slope in fitted]
            yield [name, f"{row[name]:,}", f"{row['seconds']['processor_best'] * 1e3:.1f}", peak, *shown]
    one = result["large"]
    peak = "-" if one["peak_bytes"] is None else f"{one['peak_bytes'] / 1e6:.0f}"
    yield ["large graph", f"{one['edges']:,}", f"{one['seconds']['processor_best'] * 1e3:.0f}", peak, "", ""]

"""The paper's scalability table: an epoch of ZINC, batches of 128, of the model and of its two ablations.

`mpnn` and `nmpnn` are the paper's ablations on this package's one code path: noise replaced by zero, and noise as plain
features; of their noise stream one channel is computed. `bare` is message passing without any such stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool

from engnn.bench.layers import MessagePassing
from engnn.bench.machine import Step, interleaved, machine, peak_bytes
from engnn.data.catalog import open_dataset
from engnn.tasks import task_of
from engnn.tasks.batch import WHOLE, Batch
from engnn.tasks.task import Task
from engnn.train.config import ModelConfig
from engnn.train.models import answer, arguments, build

DATA, BATCH, LAYERS = "zinc", 128, 6


class Bare(nn.Module):
    """Message passing as in ENConv, normalised and added as in ENGNN, a sum over each graph, an MLP."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, edge_dim: int
    ) -> None:
        super().__init__()
        d = hidden_channels
        self.lin = nn.Linear(in_channels, d)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(num_layers + 1))
        self.layers = nn.ModuleList(MessagePassing(d, edge_dim) for _ in range(num_layers))
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, out_channels))

    def forward(
        self, x: Tensor, edge_index: Tensor, *, edge_attr: Tensor, batch: Tensor, size: int, **_: object
    ) -> Tensor:
        x = self.lin(x)
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = x + layer(norm(x), edge_index, edge_attr)
        out: Tensor = self.head(global_add_pool(self.norms[-1](x), batch, size))
        return out


def run(repetitions: int, batches: int = 0) -> dict[str, Any]:
    """An epoch, batch after batch, each by every model in turn; or so many `batches` of it, for a whole one."""
    torch.manual_seed(0)
    task = task_of(open_dataset(DATA))
    every = task.epoch(1, BATCH, seed=0, share=WHOLE)
    count = min(batches, len(every)) or len(every)
    config = {variant: ModelConfig(variant=variant, layers=LAYERS) for variant in ("engnn", "mpnn", "nmpnn")}
    models = {name: build("engnn", arguments(one, task)) for name, one in config.items()}
    said = arguments(config["engnn"], task)
    models["bare"] = Bare(said["in_channels"], said["hidden_channels"], said["out_channels"], LAYERS, said["edge_dim"])
    train = {name: trainer(model, task) for name, model in models.items()}
    seconds = dict.fromkeys(models, 0.0)
    for number in range(count):
        batch = every[number]
        steps: dict[str, Step] = {name: partial(do, batch) for name, do in train.items()}
        for name, taken in interleaved(steps, repetitions).items():
            seconds[name] += taken.processor_best
    first = every[0]
    rows = [
        {
            "model": name,
            "epoch_processor_seconds": seconds[name] * len(every) / count,
            "times_bare": seconds[name] / seconds["bare"],
            "peak_bytes": peak_bytes(partial(train[name], first)),
            "parameters": sum(one.numel() for one in models[name].parameters()),
        }
        for name in models
    ]
    sizes = {"data": DATA, "provenance": task.dataset.provenance, "batch": BATCH, "layers": LAYERS, "measured": count}
    return {"bench": "epoch", **machine(), **sizes, "batches": len(every), "rows": rows}


def trainer(model: nn.Module, task: Task) -> Callable[[Batch], None]:
    """A training step."""
    optimiser = torch.optim.AdamW(model.parameters())

    def step(batch: Batch) -> None:
        optimiser.zero_grad()
        assert batch.y is not None
        total, known = task.answer.loss(answer(model, batch, seed=0, draw=0), batch.y)
        (total / known).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def table(result: dict[str, Any]) -> Iterable[list[str]]:
    """What people read."""
    yield ["model", "epoch s", "× bare", "peak MB", "parameters"]
    for row in result["rows"]:
        peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
        numbers = [f"{row['epoch_processor_seconds']:.1f}", f"{row['times_bare']:.2f}", peak, f"{row['parameters']:,}"]
        yield [row["model"], *numbers]

"""Layers side by side: ENConv, PyG's GINEConv, and the message passing that ENConv would be without noise.

Six of each, added to what they are given, on a batch like ZINC's (128 graphs, 2,916 nodes, 6,322 directed edges with
four features), forward and backward, over C, L, d and the size of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GINEConv

from engnn.bench.machine import Step, interleaved, machine, peak_bytes, saved_bytes, say, ways
from engnn.nn.conv import ENConv
from engnn.sets import Neighbours, Sets

EDGE_DIM = 4


@dataclass(frozen=True)
class Setting:
    """One size of everything."""

    noise_channels: int = 16
    noise_dim: int = 16
    hidden: int = 64
    graphs: int = 128
    nodes: int = 2916
    edges: int = 6322
    layers: int = 6


SETTINGS = (
    Setting(),
    Setting(noise_channels=8),
    Setting(noise_channels=32),
    Setting(noise_dim=8),
    Setting(noise_dim=32),
    Setting(hidden=128),
    Setting(graphs=512, nodes=11664, edges=25288),
    Setting(edges=25288),
)


@dataclass(frozen=True)
class Batch:
    """Graphs of one size, connected by random edges, both ways."""

    x: Tensor
    z: Tensor
    edge_index: Tensor
    edge_attr: Tensor
    batch: Tensor
    size: int

    @classmethod
    def of(cls, setting: Setting, seed: int = 0) -> Batch:
        """
        >>> Batch.of(Setting()).edge_index.shape
        torch.Size([2, 6322])
        """
        random = torch.Generator().manual_seed(seed)
        n, half = setting.nodes, setting.edges // 2
        batch = torch.arange(n) * setting.graphs // n
        sizes = batch.bincount(minlength=setting.graphs)
        source = torch.randint(n, (half,), generator=random)
        first = sizes.cumsum(0) - sizes
        target = first[batch[source]] + (torch.rand(half, generator=random) * sizes[batch[source]]).long()
        edge_index = torch.cat([torch.stack([source, target]), torch.stack([target, source])], dim=1)
        return cls(
            torch.randn(n, setting.hidden, generator=random),
            torch.randn(n, setting.noise_channels, setting.noise_dim, generator=random),
            edge_index,
            torch.randn(edge_index.size(1), EDGE_DIM, generator=random),
            batch,
            setting.graphs,
        )


class MessagePassing(nn.Module):
    """x′ = MLP(x ‖ Σ_j MLP(x_j ‖ e_ij)): ENConv's messages and update without noise, with the message's first Linear
    made once a node and its second once a sum."""

    def __init__(self, width: int, edge_dim: int = EDGE_DIM) -> None:
        super().__init__()
        self.node, self.edge = nn.Linear(width, width), nn.Linear(edge_dim, width, bias=False)
        self.message, self.lin1, self.lin2 = (
            nn.Linear(width, width),
            nn.Linear(2 * width, width),
            nn.Linear(width, width),
        )

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        messages = F.relu(self.node(x).index_select(0, edge_index[0]) + self.edge(edge_attr))
        total = self.message(torch.zeros_like(x).index_add_(0, edge_index[1], messages))
        out: Tensor = self.lin2(F.relu(self.lin1(torch.cat([x, total], dim=1))))
        return out


class Plain(nn.Module):
    """Layers without noise."""

    def __init__(self, layer: Callable[[], nn.Module], count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layer() for _ in range(count))

    def forward(self, given: Batch) -> Tensor:
        x = given.x
        for layer in self.layers:
            x = x + layer(x, given.edge_index, given.edge_attr)
        return x.sum()


class Noisy(nn.Module):
    """Layers with noise."""

    def __init__(self, layer: Callable[[], nn.Module], count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layer() for _ in range(count))

    def forward(self, given: Batch) -> Tensor:
        x, z = given.x, given.z
        neighbours, graphs = Neighbours.from_edges(given.edge_index, len(x)), Sets.of(given.batch, given.size)
        for layer in self.layers:
            dx, z = layer(x, z, neighbours, given.edge_attr, graphs, residual=True)
            x = x + dx
        return x.sum() + z.sum()


def measure(setting: Setting, repetitions: int) -> dict[str, Any]:
    """Seconds and bytes of every layer in one setting, and their ratios."""
    d = setting.hidden
    given = Batch.of(setting)
    for tensor in (given.x, given.z):
        tensor.requires_grad_()

    def gine() -> nn.Module:
        conv: nn.Module = GINEConv(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)), edge_dim=EDGE_DIM)
        return conv

    def noise() -> nn.Module:
        return ENConv(d, d, setting.noise_dim, setting.noise_dim, edge_dim=EDGE_DIM)

    noisy = Noisy(noise, setting.layers)
    models: dict[str, tuple[nn.Module, str]] = {
        "gine": (Plain(gine, setting.layers), "auto"),
        "mpnn": (Plain(lambda: MessagePassing(d), setting.layers), "auto"),
        "enconv, pure torch": (noisy, "off"),
        "enconv": (noisy, "auto"),
    }
    steps: dict[str, Step] = {}
    for name, (model, way) in models.items():
        steps[f"{name}: forward"] = _forward(model, given, way)
        steps[f"{name}: both"] = _both(model, given, way)
    memory = {name: (saved_bytes(steps[f"{name}: forward"]), peak_bytes(steps[f"{name}: both"])) for name in models}
    times = interleaved(steps, repetitions)
    rows = []
    for name in models:
        forward, both = times[f"{name}: forward"], times[f"{name}: both"]
        rows.append(
            {
                "layer": name,
                "forward_seconds": asdict(forward),
                "backward_seconds": both.processor_best - forward.processor_best,
                "seconds": asdict(both),
                "times_gine": both.processor_best / times["gine: both"].processor_best,
                "times_mpnn": both.processor_best / times["mpnn: both"].processor_best,
                "saved_bytes": memory[name][0],
                "saved_times_mpnn": memory[name][0] / memory["mpnn"][0],
                "peak_bytes": memory[name][1],
            }
        )
    return {"setting": asdict(setting), "rows": rows}


def run(repetitions: int, settings: tuple[Setting, ...] = ()) -> dict[str, Any]:
    """Those settings, or all."""
    found, settings = [], settings or SETTINGS
    for number, setting in enumerate(settings):
        say(f"setting {number + 1} of {len(settings)}")
        found.append(measure(setting, repetitions))
    return {"bench": "layers", **machine(), "settings": found}


def table(result: dict[str, Any]) -> list[list[str]]:
    """What people read."""
    lines = [["C", "L", "d", "nodes", "edges", "layer", "ms", "median", "× gine", "× mpnn", "saved MB", "peak MB"]]
    for one in result["settings"]:
        s = one["setting"]
        sizes = [str(s[key]) for key in ("noise_channels", "noise_dim", "hidden", "nodes", "edges")]
        for row in one["rows"]:
            times = [row["seconds"][key] * 1e3 for key in ("processor_best", "processor_median")]
            ratios = [f"{row[key]:.2f}" for key in ("times_gine", "times_mpnn")]
            peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
            sized = [f"{row['saved_bytes'] / 1e6:.0f}", peak]
            lines.append([*sizes, row["layer"], *(f"{ms:.1f}" for ms in times), *ratios, *sized])
    return lines


def _forward(model: nn.Module, given: Batch, way: str) -> Step:
    def step() -> Tensor:
        with ways(way):
            out: Tensor = model(given)
        return out

    return step


def _both(model: nn.Module, given: Batch, way: str) -> Step:
    def step() -> None:
        model.zero_grad()
        given.x.grad = given.z.grad = None
        with ways(way):
            model(given).backward()

    return step

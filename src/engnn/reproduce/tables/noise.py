"""What the noise is worth: kinds, with and without noise messages, how many channels and draws, which symmetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engnn.reproduce.table import Column, Row, Run, Said, Stopping, Table, trained

DRAWS = (1, 2, 4, 8, 16)
KINDS = ("onehot+normal", "onehot", "normal", "orthogonal")
CHANNELS = (8, 16, 64)


def at_draws(run: Run, folder: Path, stopping: Stopping) -> Said:
    """Train, then score the same model with more and more draws: the record, with `by_draws`."""
    said = trained(run, folder, stopping)
    from engnn.train.evaluate import evaluate
    from engnn.train.options import make_config, read_recipe
    from engnn.train.run import CONFIG, opened
    from engnn.train.trained import load

    model, dataset = load(folder), opened(make_config(read_recipe(folder / CONFIG)))
    scores = {str(draws): evaluate(model, dataset, draws=draws)["score"] for draws in DRAWS}
    return {**said, "by_draws": scores}


def draws_page(found: Mapping[str, Sequence[Said]]) -> list[str]:
    """The means over seeds by the number of draws, which choose nothing: all are of the same trained models."""
    if not found:
        return []
    lines = [
        "The same models, scored by the mean of so many draws (means over seeds):",
        "",
        f"| cell | {' | '.join(map(str, DRAWS))} |",
        "|---|" + "---:|" * len(DRAWS),
    ]
    for name, records in found.items():
        means = [sum(said["by_draws"][str(draws)] for said in records) / len(records) for draws in DRAWS]
        lines.append(f"| {name} | {' | '.join(f'{mean:.4f}' for mean in means)} |")
    return lines


def _column(name: str, **settings: Any) -> Column:
    return Column(name=name, settings={f"model.{key}": value for key, value in settings.items()})


TABLE = Table(
    name="noise",
    title="Kinds of noise",
    about="Counting (as above), under one recipe for all: kinds of noise; without noise messages (the equations as "
    "they are printed); other numbers of channels than 32; and noise that may be rotated rather than permuted.",
    rows=tuple(
        Row(name=name, settings={"data": f"counting:{name}", "task": "node"}, measure=at_draws)
        for name in ("4-cycle", "6-cycle")
    ),
    columns=(
        *(_column(kind, noise=kind) for kind in KINDS),
        _column("rotations", noise="orthogonal", symmetry="orthogonal"),
        _column("rotations-normal", noise="normal", symmetry="orthogonal"),
        *(_column(f"{kind}-quiet", noise=kind, noise_messages=False) for kind in KINDS),
        *(_column(f"onehot+normal-{size}", noise="onehot+normal", noise_channels=size) for size in CHANNELS),
    ),
    seeds=3,
    more=draws_page,
)

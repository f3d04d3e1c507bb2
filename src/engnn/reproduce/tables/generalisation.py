"""What the paper proves and does not measure: how many graphs it takes to learn, for each kind of noise and symmetry.

The work is the same for all: as many steps, however few the graphs are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from engnn.reproduce.table import Column, Row, Said, Table

GRAPHS = (50, 100, 200, 400, 800, 1500, 3000)
PASSES = 45_000  # graphs seen in training, of whatever number of different ones
NODES, CHANNELS = 30, 32
KINDS = ("onehot+normal", "onehot", "normal", "orthogonal", "uniform", "rademacher")


def _row(graphs: int) -> Row:
    return Row(
        name=str(graphs),
        settings={
            "data": "counting-generated:4-cycle",
            "task": "node",
            "split": "fixed" if graphs == 1500 else f"train-{graphs}",
            "train.epochs": PASSES // graphs,
            "train.evaluate_every": max(1, 1500 // graphs),
        },
    )


def _column(name: str, **settings: str) -> Column:
    model = {f"model.{key}": value for key, value in settings.items()}
    return Column(name=name, settings={**model, "model.noise_channels": CHANNELS})


def points(kind: str, symmetry: str) -> str:
    """N_Z, the covering number of the noise of one graph as its radius goes to 0: exact values in words.

    Marks of n nodes on C channels are C! / (C - n)! points, which permutations of the channels make one. Kinds with a
    density have no finite number, but where the whole space is one orbit.

    >>> points("onehot", "permutation"), points("orthogonal", "orthogonal"), points("normal", "permutation")
    ('1', '1', 'infinite')
    """
    match kind, symmetry:
        case ("onehot", "permutation" | "orthogonal") | ("orthogonal", "orthogonal"):
            return "1"
        case "onehot", "none":
            return f"{math.perm(CHANNELS, NODES):.1e}"
        case "rademacher", "none":
            return f"{2.0 ** (NODES * CHANNELS):.1e}"
        case "rademacher", _:
            return f"at least {2.0 ** (NODES * CHANNELS) / math.factorial(CHANNELS):.1e}"
        case _:
            return "infinite"


def curve(found: Mapping[str, Sequence[Said]]) -> list[str]:
    """Errors by the number of graphs, a line for each model, with the covering number of its noise."""
    lines = [
        f"Mean test errors, and the covering number N_Z of the noise under the model's symmetry ({NODES} nodes, "
        f"{CHANNELS} channels, radius towards 0; the tests compute it exactly for smaller ones):",
        "",
        f"| model | N_Z | {' | '.join(f'{graphs:,}' for graphs in GRAPHS)} |",
        "|---|---|" + "---:|" * len(GRAPHS),
    ]
    for column in TABLE.columns:
        means = []
        for graphs in GRAPHS:
            records = found.get(f"{graphs}/{column.name}", ())
            means.append(f"{statistics.fmean(said['scores']['test'] for said in records):.4f}" if records else "")
        if column.settings.get("model.variant") == "mpnn":
            size = "none"
        else:
            nmpnn = column.settings.get("model.variant") == "nmpnn"
            symmetry = "none" if nmpnn else str(column.settings.get("model.symmetry", "permutation"))
            size = points(str(column.settings["model.noise"]), symmetry)
        if any(means):
            lines.append(f"| {column.name} | {size} | {' | '.join(means)} |")
    return lines if len(lines) > 4 else []


TABLE = Table(
    name="generalisation",
    title="Errors by the number of training graphs",
    about="4-cycles at each node of generated graphs, in standard deviations of the count; a row is a number of "
    "training graphs. Validation and test graphs, the number of steps and the recipe are the same for all.",
    rows=tuple(map(_row, GRAPHS)),
    columns=(
        *(_column(f"engnn-{kind}", noise=kind) for kind in KINDS),
        _column("engnn-rotations", noise="orthogonal", symmetry="orthogonal"),
        *(_column(f"nmpnn-{kind}", variant="nmpnn", noise=kind) for kind in ("onehot", "normal")),
        _column("mpnn", variant="mpnn"),
    ),
    seeds=3,
    notes=("`nmpnn` takes the noise as plain features, so that no symmetry makes its draws fewer.",),
    more=curve,
)

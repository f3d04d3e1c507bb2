"""Seconds and memory of an epoch of ZINC, the models measured in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from engnn.reproduce.table import Column, Row, Run, Said, Stopping, Table, printed

PAPER = """
           MPNN  ENGNN  SUN    SSWL   PPGN
Time/s     2.36  4.81   20.93  45.30  20.21
Memory/GB  0.24  0.62   3.72   3.89   20.37
"""
REPETITIONS = 1


def measured(run: Run, folder: Path, stopping: Stopping) -> Said:
    """An epoch, batch after batch by every model in turn, so that ratios hold whatever else the machine does."""
    from engnn.bench import epoch
    from engnn.reproduce.recipe import settings

    said = epoch.run(REPETITIONS)
    return {
        **said,
        "dataset": said["data"],
        "task": "graph",
        "model": "all",
        "variant": "all",
        "config": settings(run),
        "seed": run.seed,
        "metric": "none",
        "higher_is_better": False,
        "scores": dict.fromkeys(("train", "valid", "test")),
        "draws": 1,
        "epochs": 1,
        "seconds": sum(row["epoch_seconds"] for row in said["rows"]),
        "complete": True,
    }


def page(found: Mapping[str, Sequence[Said]]) -> list[str]:
    """Ours beside the paper's, and the ratios, which alone can be compared."""
    lines = []
    for records in found.values():
        said = records[-1]
        models = {row["model"]: row for row in said["rows"]}
        lines += [
            f"Batches of {said['batch']}, {said['layers']} layers, on a processor and not, as in the paper, on a "
            "graphics card: only ratios can be compared. `mpnn` computes one channel of zero noise, `bare` has no "
            "noise stream at all.",
            "",
            "| model | epoch s | × mpnn | × bare | peak MB | paper: s | paper: × MPNN | paper: GB |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for name, row in models.items():
            times, memory = (TABLE.paper.get((what, name.upper())) for what in ("Time/s", "Memory/GB"))
            base = TABLE.paper["Time/s", "MPNN"].mean
            theirs = [f"{times.mean:.2f}", f"{times.mean / base:.2f}"] if times else ["", ""]
            peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}"
            ratios = [f"{row['epoch_seconds'] / models[other]['epoch_seconds']:.2f}" for other in ("mpnn", "bare")]
            cells = [
                name,
                f"{row['epoch_seconds']:.1f}",
                *ratios,
                peak,
                *theirs,
                f"{memory.mean:.2f}" if memory else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


TABLE = Table(
    name="scalability",
    title="Scalability",
    about="Seconds and memory of an epoch of ZINC in batches of 128.",
    number=6,
    label="tab:scalability",
    rows=(Row(name="zinc", settings={"data": "zinc", "task": "graph"}, measure=measured, recipe=False),),
    columns=(Column(name="all"),),
    seeds=1,
    paper=printed(PAPER),
    notes=("The training set of `zinc` is a substitute of the same kind of molecules.",),
    more=page,
)

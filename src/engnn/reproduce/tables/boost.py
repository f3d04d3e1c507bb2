"""Models of PyG, bare and boosted: the same model by the same recipe, without and with equivariant noise beside it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from engnn.reproduce.table import Column, Row, Said, Table

PAIRS = {"gcn": "GCN", "gin": "GIN", "gat": "GAT", "graphsage": "GraphSAGE"}


def compared(found: Mapping[str, Sequence[Said]]) -> list[str]:
    """Of each data and model bare → boosted (the difference), over the seeds that both have on record."""
    lines = []
    better: list[bool] = []
    for row in TABLE.rows:
        shown, metric = [], ""
        times, digits = (100, 2) if row.percent else (1, 4)
        for name in PAIRS:
            pair = [found.get(f"{row.name}/{column}", ()) for column in (name, f"boosted_{name}")]
            seeds = sorted(set.intersection(*({said["seed"] for said in records} for records in pair)))
            if not seeds:
                shown.append("–")
                continue
            bare, boosted = (
                times * statistics.fmean(said["scores"]["test"] for said in records if said["seed"] in seeds)
                for records in pair
            )
            higher = pair[0][0]["higher_is_better"]
            metric = f"{pair[0][0]['metric']}{', %' if row.percent else ''} {'↑' if higher else '↓'}"
            better.append(boosted > bare if higher else boosted < bare)
            difference = f"{boosted - bare:+.{digits}f}".replace("-", "−")
            asked = row.seeds or TABLE.seeds
            fewer = f", {len(seeds)} of {asked} seeds" if len(seeds) < asked else ""
            shown.append(f"{bare:.{digits}f} → {boosted:.{digits}f} ({difference}{fewer})")
        lines.append(f"| {row.settings['data']} | {metric or '–'} | {' | '.join(shown)} |")
    if not better:
        return []
    return [
        f"Bare → boosted (difference): better on {sum(better)} of {len(better)} pairs.",
        "",
        f"| data | metric | {' | '.join(PAIRS.values())} |",
        f"|---|---|{'---:|' * len(PAIRS)}",
        *lines,
    ]


def _row(name: str, data: str, task: str, *, percent: bool = False, seeds: int | None = None) -> Row:
    return Row(name=name, settings={"data": data, "task": task}, percent=percent, seeds=seeds)


TABLE = Table(
    name="boost",
    title="Models of PyG, boosted",
    about="GCN, GIN, GAT and GraphSAGE of PyG, and the same models under the same recipes after `engnn.boost`: mean "
    "absolute error of counts at each node in standard deviations of the count (the published 5,000 graphs), HR@100 of "
    "links of Cora in per cent, micro-F1 of subgraphs, accuracy on Chameleon in per cent. Splits are those of the "
    "paper's tables. Counting and subgraphs have one seed each: computing was short.",
    rows=(
        _row("3-cycle", "counting:3-cycle", "node", seeds=1),
        _row("4-cycle", "counting:4-cycle", "node", seeds=1),
        _row("cora", "cora", "link", percent=True),
        _row("density", "density", "subgraph", seeds=1),
        _row("cut_ratio", "cut_ratio", "subgraph", seeds=1),
        _row("chameleon", "chameleon", "node", percent=True),
    ),
    columns=tuple(
        Column(name=name, settings={"model.name": name}) for bare in PAIRS for name in (bare, f"boosted_{bare}")
    ),
    seeds=3,
    notes=(
        "Of links and subgraphs, which are sets of nodes, boosted models also read out the noise that the last "
        "convolution hands on, by the readout of the paper; of nodes they are what `engnn.boost` makes.",
    ),
    more=compared,
)

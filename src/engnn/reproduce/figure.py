"""The curve that the paper's theorem predicts: test error against the number of training graphs, a line a model."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from engnn.reproduce.table import Said
from engnn.reproduce.tables.generalisation import GRAPHS
from engnn.reproduce.tables.generalisation import TABLE as table

TABLE = table.name
COLOURS = ("#3366cc", "#dc3912", "#109618", "#990099", "#0099c6", "#b86f00", "#66aa00", "#b82e7e")
STYLE = """
svg { background: #fff; font: 11px sans-serif }
.grid { stroke: #ddd } .tick { stroke: #666 } .line { fill: none; stroke-width: 1.8 }
.label, .name { fill: #333; stroke: none } .dots { stroke-width: 5; stroke-linecap: round }
"""


def drawn(found: Mapping[str, Sequence[Said]]) -> str | None:
    """The figure as SVG; none where nothing is on record."""
    from engnn.report import charts

    series = []
    for column in table.columns:
        line = [
            (float(graphs), statistics.fmean(said["scores"]["test"] for said in found[f"{graphs}/{column.name}"]))
            for graphs in GRAPHS
            if f"{graphs}/{column.name}" in found
        ]
        if line:
            series.append((column.name, line))
    if not series:
        return None
    about = "Test error by the number of training graphs: " + ", ".join(name for name, _ in series)
    chart = str(charts.lines(series, "training graphs (log scale)", "test error", about, log=True, log_x=True))
    rules = "".join(f".c{place} {{ stroke: {colour} }}\n" for place, colour in enumerate(COLOURS))
    legend = "".join(
        f'<text x="392" y="{44 + 16 * place}" fill="{COLOURS[place % charts.COLOURS]}">{escape(name)}</text>'
        for place, (name, _) in enumerate(series)
    )
    head, _, body = chart.partition(">")
    head = head.replace(f"0 0 {charts.WIDTH} ", f"0 0 {charts.WIDTH + 160} ")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    return f"{head}><style>{STYLE}{rules}</style>{body.removesuffix('</svg>')}{legend}</svg>\n"

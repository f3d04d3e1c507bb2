"""The committed records as pages: `docs/results.md`, its figure, and the parts of the README between markers.

    python -m engnn.reproduce.pages

writes them from `records/`. Nothing on them is typed by hand: what is on record is told, what is not is told missing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engnn.errors import InputError
from engnn.reproduce import figure, ledger
from engnn.reproduce.table import Cell, Printed, Said, Table, tables
from engnn.reproduce.tables import boost
from engnn.train import durable

BEGIN, END = "<!-- results: made by `make tables` -->", "<!-- end of results -->"
BOOST = "<!-- boosted models: made by `make tables` -->", "<!-- end of boosted models -->"
PAGE, README, FIGURE = Path("docs/results.md"), Path("README.md"), Path("docs/generalisation.svg")
MODEL = "engnn"


@dataclass(frozen=True)
class Result:
    """What is on record of a cell: complete runs by seed, all of the recipe that the cell has now."""

    cell: Cell
    records: tuple[Said, ...]
    others: int  # records that are not shown: of other settings, not complete, or told again

    @property
    def whole(self) -> bool:
        """Whether all seeds are there."""
        return len(self.records) >= self.cell.seeds

    @property
    def scores(self) -> list[float] | None:
        """The test scores in the paper's unit; none where a run has none."""
        scores = [said["scores"].get("test") for said in self.records]
        times = 100 if self.cell.row.percent else 1
        return None if not scores or None in scores else [times * score for score in scores]

    @property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return None if self.scores is None else statistics.fmean(self.scores)

    @property
    def higher_is_better(self) -> bool:
        """Which way scores are good."""
        return bool(self.records[0]["higher_is_better"])

    def reaches(self, other: float) -> bool:
        """Whether the mean is as good as that, as it is shown."""
        assert self.mean is not None
        mine, theirs = (round(one, self.digits) for one in (self.mean, other))
        return mine >= theirs if self.higher_is_better else mine <= theirs

    @property
    def digits(self) -> int:
        """After the point, as the paper has them."""
        printed: Iterable[Printed] = self.cell.table.paper.values()
        own = [one.digits for (row, _), one in self.cell.table.paper.items() if row == self.cell.row.label]
        return max(own or [one.digits for one in printed] or [2 if self.cell.row.percent else 4])


def results(table: Table, records: Path) -> list[Result]:
    """What is on record of each cell of a table."""
    found = ledger.read(ledger.path_of(records, table))
    return [
        Result(cell, tuple(by_seed[seed] for seed in sorted(by_seed)), others)
        for cell in table.cells
        for by_seed, others in [ledger.of_cell(found, cell, cell.seeds)]
    ]


def page(records: Path) -> str:
    """`docs/results.md`."""
    lines = [
        "# Results",
        "",
        "The tables of the paper, run again, beside the paper's numbers; made from the files in `records/` by "
        "`make tables`, and held to them by a test. *ours* is the mean ± the standard deviation (n − 1) of the test "
        "scores over seeds, of complete runs with one and the same recipe. Validation chose each model; the test part "
        "was scored once a run. *difference* is ours less the paper's; *our engnn* is what engnn scores on the same "
        "data, here too. Epochs and seconds are means over seeds. A cell that has fewer seeds than its table asks for "
        "says how many; a cell without a complete run is missing, and is named as such.",
        "",
        "`engnn reproduce TABLE` runs what is missing.",
        "",
    ]
    for table in tables().values():
        lines += section(table, results(table, records))
    return "\n".join(lines).rstrip() + "\n"


def section(table: Table, found: Sequence[Result]) -> list[str]:
    """A table's part of the page."""
    number = "" if table.number is None else f" (the paper's Table {table.number})"
    lines = [f"## {table.title}{number}", "", table.about, ""]
    lines += [f"{_count(found)}{_verdict(found)}", ""]
    if shown := [one for one in found if one.scores is not None]:
        engnn = {one.cell.row.name: _ours(one) for one in shown if one.cell.column.name == MODEL}
        beside = (" our engnn |", "---:|") if engnn else ("", "")
        lines += [
            f"| data | model | ours | seeds | paper | difference |{beside[0]} provenance | epochs | seconds |",
            f"|---|---|---:|---:|---:|---:|{beside[1]}---|---:|---:|",
            *(_line(one, engnn) for one in shown),
            "",
        ]
    if table.more is not None and (more := table.more({one.cell.name: one.records for one in found if one.records})):
        lines += [*more, ""]
    if table.name == figure.TABLE and any(one.records for one in found):
        lines += [f"![Test errors by the number of training graphs]({FIGURE.name})", ""]
    if missing := _missing(found):
        lines += [f"Missing, without any complete run: {missing}.", ""]
    if others := sum(one.others for one in found):
        lines += [f"{others} more records of these cells are of other settings or not complete, and not shown.", ""]
    notes = list(table.notes)
    if any(one.spread is not None for one in table.paper.values()):
        notes.append(f"The paper's ± is the {table.spread}.")
    if recipes := sorted({line for one in found for said in one.records for line in said["recipe"]}):
        notes += [f"Recipes: {' '.join(recipes)}"]
    return [*lines, *(line for note in notes for line in (note, ""))]


def summary(records: Path) -> str:
    """What the README says: how far each table is, and how it compares."""
    lines = ["| table | whole cells | engnn beside the paper's engnn, and beside our mpnn |", "|---|---:|---|"]
    for table in tables().values():
        found = results(table, records)
        whole = sum(one.whole for one in found)
        said = _verdict(found).strip() or "–"
        lines.append(f"| {table.title} | {whole} of {len(found)} | {said} |")
    return "\n".join(lines)


def boosted(records: Path) -> str:
    """What the README says of boosted models."""
    lines = boost.compared(_by_cell(boost.TABLE, records))
    return "\n".join(lines or ["No pair of bare and boosted models is on record yet."])


def between(text: str, content: str, begins: str = BEGIN, ends: str = END) -> str:
    """The text with `content` between the markers.

    >>> between(f"a {BEGIN} b {END} c", "new")
    'a <!-- results: made by `make tables` -->\\nnew\\n<!-- end of results --> c'
    """
    before, begin, rest = text.partition(begins)
    _, end, after = rest.partition(ends)
    if not (begin and end):
        raise InputError(f"the README has no markers {begins} and {ends}: put both where the results are to stand")
    return f"{before}{begins}\n{content}\n{ends}{after}"


def readme(text: str, records: Path) -> str:
    """The README with both its parts that are made of records."""
    return between(between(text, summary(records)), boosted(records), *BOOST)


def write(root: Path) -> list[Path]:
    """Write all pages of a checkout from its records; which were written."""
    records = root / "records"
    made = {PAGE: page(records), README: readme((root / README).read_text(encoding="utf-8"), records)}
    if (drawn := figure.drawn(_by_cell(tables()[figure.TABLE], records))) is not None:
        made[FIGURE] = drawn
    for path, text in made.items():
        durable.write(root / path, text.encode())
    return list(made)


def _by_cell(table: Table, records: Path) -> dict[str, Sequence[Said]]:
    return {one.cell.name: one.records for one in results(table, records) if one.records}


def _count(found: Sequence[Result]) -> str:
    whole, begun = sum(one.whole for one in found), sum(bool(one.records) and not one.whole for one in found)
    part = f", {begun} more have some of their seeds" if begun else ""
    asked = sorted({one.cell.seeds for one in found})
    seeds = f"{' or '.join(map(str, asked))} seed{'s' * (asked[-1] > 1)}"
    return f"{whole} of {len(found)} cells are whole ({seeds} each){part}."


def _verdict(found: Sequence[Result]) -> str:
    """How the model compares, over the rows where both have a score."""
    scored = {(one.cell.row.name, one.cell.column.name): one for one in found if one.mean is not None}
    mine = [one for (_, column), one in scored.items() if column == MODEL]
    printed = [(one, one.cell.printed) for one in mine if one.cell.printed is not None]
    peers = [(one, scored[one.cell.row.name, "mpnn"]) for one in mine if (one.cell.row.name, "mpnn") in scored]
    said = ""
    if printed:
        reached = sum(one.reaches(theirs.mean) for one, theirs in printed if theirs is not None)
        said += f" As good as the paper's engnn or better on {reached} of {len(printed)} rows."
    if peers:
        better = sum(not other.reaches(one.mean) for one, other in peers if one.mean is not None)
        said += f" Better than our mpnn on {better} of {len(peers)}."
    fewer = sum(not one.whole for one in mine)
    return f"{said} Of these rows {fewer} have fewer seeds than the table asks for." if said and fewer else said


def _ours(one: Result) -> str:
    scores = one.scores
    assert scores is not None
    spread = f" ± {statistics.stdev(scores):.{one.digits}f}" if len(scores) > 1 else ""
    return f"{one.mean:.{one.digits}f}{spread}"


def _line(one: Result, engnn: Mapping[str, str]) -> str:
    """A line of a table; beside other models' scores stands engnn's, where there is any on the same data."""
    scores, printed = one.scores, one.cell.printed
    assert scores is not None
    assert one.mean is not None
    seeds = str(len(scores)) if one.whole else f"{len(scores)} of {one.cell.seeds}"
    theirs, difference = "not published" if one.cell.table.paper else "", ""
    if printed is not None:
        theirs = f"{printed.mean:.{printed.digits}f}"
        theirs += "" if printed.spread is None else f" ± {printed.spread:.{printed.digits}f}"
        how = "as good or better" if one.reaches(printed.mean) else "worse"
        difference = f"{one.mean - printed.mean:+.{one.digits}f}, {how}".replace("-", "−")
    provenance = ", ".join(sorted({said["provenance"] for said in one.records}))
    means = [statistics.fmean(said[key] for said in one.records) for key in ("epochs", "seconds")]
    cells = [
        one.cell.row.name,
        one.cell.column.name,
        _ours(one),
        seeds,
        theirs,
        difference,
        *([""] if one.cell.column.name == MODEL else [engnn.get(one.cell.row.name, "")] if engnn else []),
        provenance,
        *(f"{mean:,.0f}" for mean in means),
    ]
    return f"| {' | '.join(cells)} |"


def _missing(found: Sequence[Result]) -> str:
    """The cells without a record, by model."""
    by_column: dict[str, list[str]] = {one.cell.column.name: [] for one in found}
    rows = dict.fromkeys(by_column, 0)
    for one in found:
        rows[one.cell.column.name] += 1
        if not one.records:
            by_column[one.cell.column.name].append(one.cell.row.name)
    if not any(one.records for one in found):
        return "all cells"
    named: Mapping[str, str] = {
        column: "all rows" if len(names) == rows[column] else ", ".join(names) for column, names in by_column.items()
    }
    return "; ".join(f"`{column}` on {names}" for column, names in named.items() if names)


if __name__ == "__main__":
    for name in write(Path()):
        print(name)

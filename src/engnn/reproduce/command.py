"""The command `engnn reproduce`."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engnn.errors import InputError
from engnn.reproduce.table import table, tables

if TYPE_CHECKING:
    Commands = _SubParsersAction[ArgumentParser]


def add_reproduce(commands: Commands) -> None:
    """`engnn reproduce`."""
    summary = "run the cells of one of the paper's tables"
    parser = commands.add_parser(
        "reproduce",
        help=summary,
        description=f"{summary}: what is on record already is not run again, what was interrupted is gone on with.",
        usage="engnn reproduce TABLE [options]",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="TABLE", help=f"one of {', '.join(tables())}")
    parser.add_argument("--cells", metavar="CELL", nargs="+", default=[], help="such as cora, cora/engnn, */mpnn (all)")
    parser.add_argument("--seeds", metavar="N", type=_count, help="seeds 0 … N-1 of each cell (the table's)")
    parser.add_argument("--budget", metavar="MINUTES", type=_minutes, help="after which to stop, all saved (none)")
    parser.add_argument("--records", metavar="FOLDER", type=Path, default=Path("records"), help="(records)")
    parser.add_argument("--runs", metavar="FOLDER", type=Path, default=Path("runs/reproduce"), help="(runs/reproduce)")
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout, and nothing else there")
    parser.set_defaults(run=_reproduce)


def _reproduce(asked: Namespace) -> None:
    chosen = table(asked.table)
    cells, seeds = chosen.chosen(asked.cells), asked.seeds or chosen.seeds
    from engnn.reproduce import work

    end = None if asked.budget is None else time.monotonic() + 60 * asked.budget
    found = work.work(
        chosen,
        cells,
        seeds,
        records=asked.records,
        runs=asked.runs,
        stopping=lambda: end is not None and time.monotonic() >= end,
        say=lambda text: print(f"engnn: {text}", file=sys.stderr, flush=True),
    )
    said: dict[str, Any] = {
        "table": chosen.name,
        "seeds": seeds,
        "records": str(asked.records / f"{chosen.name}.jsonl"),
        "counts": dict(Counter(state for _, state, _ in found)),
        "runs": [{"cell": run.cell.name, "seed": run.seed, "state": state, "why": why} for run, state, why in found],
    }
    if asked.json:
        print(json.dumps(said, indent=2))
    _summary(said, sys.stderr if asked.json else sys.stdout)
    if failed := [one for one in said["runs"] if one["state"] == work.FAILED]:
        first = failed[0]
        raise InputError(f"{len(failed)} runs failed; {first['cell']}, seed {first['seed']}: {first['why']}")


def _summary(said: dict[str, Any], out: Any) -> None:
    """How many seeds of each cell are in which state."""
    by_cell: dict[str, Counter[str]] = {}
    for run in said["runs"]:
        by_cell.setdefault(run["cell"], Counter())[run["state"]] += 1
    width = max(map(len, by_cell))
    for name, states in by_cell.items():
        print(f"{name.ljust(width)}  {', '.join(f'{count} {state}' for state, count in states.items())}", file=out)
    print(f"records: {said['records']}", file=out)


def _count(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 1000):
        raise ArgumentTypeError(f"{text!r} is not a number of seeds (1 to 1000)")
    return int(text)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes <= 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of minutes")
    return minutes

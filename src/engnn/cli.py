"""The command `engnn`. Each command is one function that adds its parser; what it runs is imported when it runs.

Exit codes: 0 done; 2 the input or the call is wrong (one message on stderr); 3 stopped by a signal; 1 a bug.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engnn
from engnn.bench.command import add_bench
from engnn.errors import InputError, Stopped, nearest
from engnn.reproduce.command import add_reproduce
from engnn.train.commands import add_evaluate, add_predict, add_train
from engnn.train.tune_command import add_tune

if TYPE_CHECKING:
    Commands = _SubParsersAction[ArgumentParser]

DONE, BUG, WRONG, STOPPED = range(4)


def main(argv: list[str] | None = None) -> int:
    """Run the command that `argv` (the process's own arguments when None) gives, and say how it ended."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C; training lets both wait for a step's end
        parser = ArgumentParser(prog="engnn", description="Equivariant noise for graph neural networks.")
        parser.add_argument("--version", action="version", version=f"engnn {engnn.__version__}")
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for add in (add_train, add_evaluate, add_predict, add_tune, add_reproduce, _report, _data, add_bench):
            add(commands)
        asked, unknown = parser.parse_known_args(argv)
        if unknown:
            raise InputError(_unknown(unknown[0], asked))
        asked.run(asked)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse has said why
        return WRONG if stop.code else DONE
    except InputError as error:
        print(f"engnn: {error}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Stopped as stop:
        print(f"engnn: stopped; all is saved, and {stop} goes on", file=sys.stderr)
        return STOPPED
    except KeyboardInterrupt:
        print("engnn: stopped", file=sys.stderr)
        return STOPPED
    return DONE


def _unknown(word: str, asked: Namespace) -> str:
    """What to say of a word of the call that nobody asked for."""
    name = word.partition("=")[0]
    known = [f"--{key.removeprefix('set:').replace('_', '-' if ':' not in key else '_')}" for key in vars(asked)]
    return f"{name} is not an option of this command; {nearest(name, known)}"


def _data(commands: Commands) -> None:
    summary = "list, describe, check and fetch datasets"
    actions = commands.add_parser("data", help=summary, description=summary).add_subparsers(
        title="actions", metavar="ACTION", required=True
    )

    def action(name: str, run: Callable[[Namespace], None], summary: str) -> ArgumentParser:
        parser = actions.add_parser(name, help=summary, description=summary)
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.set_defaults(run=run)
        return parser

    action("list", _list, "all named datasets, and whether their files are here")
    info = action("info", _info, "what a dataset is")
    info.add_argument("data", metavar="NAME", help="a dataset's name, or a path to your own files")
    check = action("check", _check, "read your own files and say what is in them")
    check.add_argument("data", metavar="PATH", help="a folder or a file")
    fetch = action("fetch", _fetch, "download those of a dataset's files that are not here")
    fetch.add_argument("data", metavar="NAME", help="a dataset's name")
    for parser in (info, check):
        parser.add_argument("--task", help="node, link, subgraph or graph")
        parser.add_argument("--seed", type=int, default=0, help="of a random split (0)")
    info.add_argument("--split", default="", help="one of the dataset's splits")


def _list(asked: Namespace) -> None:
    from engnn.data.catalog import outline, sources

    known = [outline(source) for _, source in sorted(sources().items())]
    if asked.json:
        return _print_json(known)
    rows = [
        [_text(one[key]) for key in ("name", "tasks", "provenance")]
        + ["here" if one["present"] else "absent", _text(one["summary"])]
        for one in known
    ]
    return _print_table([["name", "tasks", "provenance", "files", "what it is"], *rows])


def _info(asked: Namespace) -> None:
    from engnn.data.catalog import describe

    facts = describe(asked.data, task=asked.task, split=asked.split, seed=asked.seed)
    _print_json(facts) if asked.json else _print_facts(facts)


def _check(asked: Namespace) -> None:
    from engnn.data.catalog import describe

    facts = describe(Path(asked.data), task=asked.task, seed=asked.seed)
    _print_json(facts) if asked.json else _print_facts(facts)


def _fetch(asked: Namespace) -> None:
    from engnn.data.catalog import fetch

    found = [{"path": str(path), "bytes": path.stat().st_size} for path in fetch(asked.data)]
    if asked.json:
        return _print_json({"name": asked.data, "files": found})
    if not found:
        return print(f"{asked.data} needs no files")
    return _print_table([["bytes", "file"], *([_text(one["bytes"]), _text(one["path"])] for one in found)])


def _report(commands: Commands) -> None:
    summary = "one HTML page about runs and records"
    parser = commands.add_parser("report", help=summary, description=summary)
    about = "the folder of a run, a file of records (.jsonl), or a folder of such files"
    parser.add_argument("about", metavar="RUN_OR_RECORDS", nargs="+", type=Path, help=about)
    parser.add_argument("--out", metavar="FILE", type=Path, default="report.html", help="the page (report.html)")
    parser.set_defaults(run=_write_report)


def _write_report(asked: Namespace) -> None:
    _need("jinja2", extra="report")
    from engnn.report.page import report

    print(report(asked.about, asked.out))


def _need(module: str, *, extra: str) -> None:
    if find_spec(module) is None:
        raise InputError(f"this needs {module}, which is not installed: pip install 'engnn[{extra}]'")


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def _print_facts(facts: dict[str, Any]) -> None:
    _print_table([[key.replace("_", " "), _text(value)] for key, value in facts.items() if key != "notes"])
    for note in facts["notes"]:
        print(f"note: {note}")


def _print_table(rows: Iterable[Sequence[str]]) -> None:
    columns = list(zip(*rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns[:-1]]
    for row in zip(*columns, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[-1]]).rstrip())


def _text(value: object) -> str:
    """A value as people read it."""
    match value:
        case _ if value in (None, "", [], {}):
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
        case dict():
            return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
        case list():
            return ", ".join(map(_text, value))
    return str(value)

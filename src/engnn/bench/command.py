"""The command `engnn bench`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = _SubParsersAction[ArgumentParser]

WHAT = {
    "layers": "the layer against GINEConv and plain message passing, over C, L, d and sizes",
    "epoch": "an epoch of ZINC: the model, its ablations, plain message passing",
    "peers": "a training step of every model that this package has for graphs",
    "knobs": "what each way to save memory costs",
    "growth": "time and memory as edges, C and L grow; and one large graph",
}
REPETITIONS = {"layers": 10, "epoch": 1, "peers": 10, "knobs": 10, "growth": 5}


def add_bench(commands: Commands) -> None:
    """`engnn bench`."""
    summary = "measure speed and memory"
    about = "\n".join(f"{name:<8} {what}" for name, what in WHAT.items())
    parser = commands.add_parser("bench", help=summary, description=f"{summary}: {'; '.join(about.splitlines())}")
    parser.add_argument("what", choices=[*WHAT], nargs="?", default="layers", help="(layers)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--out", metavar="FILE", type=Path, help="also write that document to a file")
    parser.add_argument("--repetitions", type=_count, help="turns, of which best and median are told")
    parser.add_argument("--threads", type=_count, default=1, help="of the processor (1)")
    parser.set_defaults(run=_bench)


def _bench(asked: Namespace) -> None:
    import torch

    torch.set_num_threads(asked.threads)
    module = import_module(f"engnn.bench.{asked.what}")
    result = module.run(asked.repetitions or REPETITIONS[asked.what])
    if sys.stderr.isatty():
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    document = json.dumps(result, indent=1, allow_nan=False)
    if asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(document + "\n", encoding="utf-8")
    if asked.json:
        return print(document)
    rows = list(module.table(result))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    kept = result["hardware"]
    return print(f"{kept['device']}, {kept['threads']} thread(s), load {kept['load']:.1f}; {result['revision']}")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)

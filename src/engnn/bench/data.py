"""How long each dataset takes to open and how much memory that needs: with an empty cache, and again with a warm one.

Each opening is a process of its own, in which everything is imported already. Its seconds are those of opening alone,
and its memory is the peak of the whole process, of which the first line (a process that opens nothing) is the part that
is no dataset's. The last line is a user's own folder of CSV, which is read and checked anew each time.
`counting-generated` with an empty cache draws 5,000 graphs and counts nine patterns in each.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from engnn.data import files
from engnn.data.draws import Draws

IMPORTS = "nothing"
OWN = "million-edges"
EDGES, NODES = 1_000_000, 100_000


@dataclass(frozen=True)
class Opening:
    """What it cost to open a dataset once."""

    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Row:
    """A dataset, opened with an empty cache, then with what the first opening left there."""

    name: str
    cold: Opening
    warm: Opening
    cache_bytes: int


def open_once(name: str, cache: str) -> Opening:
    """Open a dataset in this process, which then holds it."""
    if files.downloads().is_dir():
        os.environ.setdefault("ENGNN_DATA", str(files.downloads()))
    os.environ |= {"ENGNN_CACHE": cache, "ENGNN_OFFLINE": "1"}
    from engnn.data.catalog import open_dataset

    start = time.perf_counter()
    if name != IMPORTS:
        open_dataset(name)
    return Opening(time.perf_counter() - start, peak_bytes())


def peak_bytes() -> int:
    """The most memory that this process held at once."""
    status = Path("/proc/self/status")
    if status.exists():  # where getrusage may tell the peak of the process that started this one
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        assert found
        return 1024 * int(found[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(name: str) -> Row:
    """Open a dataset twice, each time in a new process, with a cache that is empty at first."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["engnn.data.catalog"])
    with (
        tempfile.TemporaryDirectory() as cache,
        ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as processes,
    ):
        cold, warm = (processes.submit(open_once, name, cache).result() for _ in range(2))
        left = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
    return Row(Path(name).name, cold, warm, left)


@contextmanager
def own_folder(edges: int = EDGES, nodes: int = NODES) -> Iterator[Path]:
    """A folder of CSV with weighted edges between labelled nodes, as a user might have it."""
    draws = Draws(0, 5 << 32)
    columns = [draws.below(bound, edges).tolist() for bound in (nodes, nodes, 1000, 1000)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / OWN
        folder.mkdir()
        with (folder / "edges.csv").open("w") as file:
            file.write("source,target,weight,km\n")
            file.writelines(f"node{a},node{b},{c / 100},{d / 10}\n" for a, b, c, d in zip(*columns, strict=True))
        with (folder / "nodes.csv").open("w") as file:
            file.write("id,age,town,label\n")
            file.writelines(f"node{i},{i % 90},{('Rome', 'Bonn', '')[i % 3]},{i % 7}\n" for i in range(nodes))
        yield folder


def present() -> list[str]:
    """The names of the datasets whose files are here."""
    from engnn.data.catalog import outline, sources

    return sorted(name for name, source in sources().items() if outline(source)["present"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engnn.bench.data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"datasets to open (all that are here, and {OWN})")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args()
    names = [IMPORTS, *(asked.names or [*present(), OWN])]
    with own_folder() if OWN in names else nullcontext() as own:
        measured = (measure(str(own) if name == OWN else name) for name in names)
        print(json.dumps([asdict(row) for row in measured], indent=2)) if asked.json else _print(measured)


def _print(measured: Iterator[Row]) -> None:
    print(f"{'dataset':<20}{'cold s':>9}{'warm s':>9}{'cold MB':>9}{'warm MB':>9}{'cache MB':>10}")
    for row in measured:
        megabytes = [size / 1e6 for size in (row.cold.peak_bytes, row.warm.peak_bytes, row.cache_bytes)]
        print(
            f"{row.name:<20}{row.cold.seconds:9.2f}{row.warm.seconds:9.2f}"
            f"{megabytes[0]:9.0f}{megabytes[1]:9.0f}{megabytes[2]:10.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

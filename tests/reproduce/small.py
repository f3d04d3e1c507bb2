"""A table small enough for tests, as a program too.

`python small.py FOLDER HOW` runs the table in processes that are begun before anything was computed. `killed`: one
after another, each killed (SIGKILL) at a later call of what asks whether to stop, until one is not; `together`: three
at once.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from engnn.reproduce.table import Row, Table, ours
from engnn.reproduce.work import work

TINY = {
    "model.layers": 1,
    "model.hidden": 8,
    "model.noise_channels": 4,
    "model.noise_dim": 4,
    "model.dropout": 0.1,
    "train.epochs": 3,
    "train.patience": 0,
    "train.checkpoint_steps": 1,
    "draws": 2,
}
TABLE = Table(
    name="small",
    title="Small",
    about="For tests.",
    rows=(
        Row(name="club", label="Club", settings={"data": "karate", "task": "node", **TINY}, percent=True),
        Row(name="deep", settings={"data": "karate", "task": "node", **TINY, "model.layers": 2}),
    ),
    columns=ours()[:2],
    seeds=2,
    paper={},
)


def in_a_process(folder: Path, killed_at: int) -> int:
    """Begin a process that works on the table, and is killed at that call (0: not)."""
    if pid := os.fork():
        return pid
    calls = 0

    def stopping() -> bool:
        nonlocal calls
        calls += 1
        if calls == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    code = 1
    try:
        work(TABLE, TABLE.cells, TABLE.seeds, records=folder / "records", runs=folder / "runs", stopping=stopping)
        code = 0
    finally:
        os._exit(code)


def main(folder: Path, how: str) -> None:
    """Do as asked, and print how the processes ended."""
    if how == "together":
        pids = [in_a_process(folder, 0) for _ in range(3)]
        print(*(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))
        return
    killed_at, codes = 5, [-signal.SIGKILL]
    while codes[-1] == -signal.SIGKILL:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(in_a_process(folder, killed_at), 0)[1]))
        killed_at += 3
    print(*codes[1:])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

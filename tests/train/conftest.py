"""What the tests of training share: small data of the user's own, and commands in processes of their own."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def calls(self) -> int:
        """How many calls of functions it made, where these were counted."""
        return int(self.err.rpartition("calls: ")[2])


class Running:
    """A command that runs in a process of its own."""

    def __init__(self, pid: int, ask: Callable[[dict[str, Any]], int], out: Path, err: Path) -> None:
        self.pid, self._ask, self._out, self._err = pid, ask, out, err

    def kill(self, number: int = SIGKILL) -> None:
        """Send a signal; a process that has ended is a zombie until `end`, so that the number is no other's."""
        os.kill(self.pid, number)

    def wait_for(self, text: str) -> None:
        """Wait until it has printed a text, on either output."""
        while not any(text in path.read_text() for path in (self._out, self._err) if path.exists()):
            time.sleep(0.001)

    def end(self) -> Ended:
        """Wait for the end."""
        code = self._ask({"wait": self.pid})
        return Ended(code, self._out.read_text(), self._err.read_text())


class Engnn:
    """`engnn ARGUMENTS` in new processes, which find all imports done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, 0
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        zygote = Path(__file__).with_name("zygote.py")
        self._server = subprocess.Popen(
            [sys.executable, zygote], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def start(
        self,
        *argv: object,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        largest_file: int = 0,
        user: int = 0,
        at_call: int | None = None,
        signal: int = SIGKILL,
        program: Path | None = None,
    ) -> Running:
        """Start a command, or a `program`. It gets a signal at that call of a function; 0 only counts the calls."""
        self._count += 1
        out, err = (self.folder / f"{self._count}.{name}" for name in ("out", "err"))
        asked = {
            "argv": [str(word) for word in argv],
            "cwd": str(cwd or self.folder),
            "env": env or {},
            "out": str(out),
            "err": str(err),
            "largest_file": largest_file,
            "user": user,
            "at_call": at_call,
            "signal": signal,
            "program": str(program or ""),
        }
        return Running(self._ask(asked), self._ask, out, err)

    def __call__(self, *argv: object, **how: Any) -> Ended:
        """Run a command to its end."""
        return self.start(*argv, **how).end()

    def close(self) -> None:
        self._server.communicate()

    def _ask(self, asked: dict[str, Any]) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@pytest.fixture(scope="session")
def engnn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engnn]:
    """Runs commands, each in a process of its own."""
    server = Engnn(tmp_path_factory.mktemp("commands"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`own_data(task)`: a folder of small CSV files with something to learn for that task."""
    made: dict[str, Path] = {}

    def folder(task: str) -> Path:
        if task not in made:
            made[task] = tmp_path_factory.mktemp("data") / task
            write_data(made[task], task)
        return made[task]

    return folder


@pytest.fixture(scope="session")
def write() -> Callable[..., None]:
    """`write(folder, task, seed=…, labels=…)`: such a folder of any seed, with labels or without."""
    return write_data


def write_data(folder: Path, task: str, *, seed: int = 0, labels: bool = True) -> None:
    """Small data for a task: a graph of 40 nodes, or 24 graphs; ids that look like numbers, among them `007`."""
    draw = random.Random(f"{task} {seed}")
    folder.mkdir(parents=True)
    label = ["label"] * labels

    def write(name: str, header: list[str], rows: list[list[object]]) -> None:
        lines = [header, *rows]
        (folder / f"{name}.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))

    if task in ("graph", "values"):
        nodes, edges, graphs = [], [], []
        for graph in range(24):
            size = draw.randint(3, 7)
            joined = [(i, j) for i in range(size) for j in range(i) if draw.random() < 0.5]
            nodes += [
                [f"{graph}.{node}", graph, draw.random(), *[sum(node in pair for pair in joined) + 0.5] * labels]
                for node in range(size)
            ]
            edges += [[f"{graph}.{i}", f"{graph}.{j}"] for i, j in joined]
            graphs.append([graph, *["dense" if len(joined) > size else "thin"] * labels])
        write("edges", ["source", "target"], edges)
        if task == "graph":
            write("nodes", ["id", "graph", "age"], [node[:3] for node in nodes])
            write("graphs", ["graph", *label], graphs)
        else:
            write("nodes", ["id", "graph", "age", *label], nodes)
        return
    names = [f"{node:03}" for node in range(40)]
    joined = [(i, j) for i in range(40) for j in range(i) if draw.random() < (0.25 if i % 2 == j % 2 else 0.03)]
    write("edges", ["source", "target", "weight"], [[names[i], names[j], 1 + (i + j) % 3] for i, j in joined])
    if task == "node":
        rows = [
            [name, draw.random() + node % 2, *["odd" if node % 2 else "even"] * labels]
            for node, name in enumerate(names)
        ]
    else:
        rows = [[name, draw.random() + node % 2] for node, name in enumerate(names)]
    write("nodes", ["id", "size", *(label if task == "node" else [])], rows)
    if task == "subgraph":
        sets = [draw.sample(range(40), 4) for _ in range(30)]
        rows = [
            [f"s{number}", " ".join(names[node] for node in nodes), *["odd" if sum(nodes) % 2 else "even"] * labels]
            for number, nodes in enumerate(sets)
        ]
        write("subgraphs", ["id", "nodes", *label], rows)
    if task == "link" and not labels:
        write("links", ["source", "target"], [[names[0], names[node]] for node in range(1, 9)])

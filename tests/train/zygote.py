"""A process that has imported everything, and forks one process for each command: it starts in milliseconds.

Each line of its input asks for a command or for the end of one; each line of its output is the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import runpy
import sys
import traceback
from typing import Any

from engnn.cli import main

IMPORTED = (
    "torch._dynamo",  # the optimiser imports it when the first one is made
    "torch_geometric.data",
    "engnn.data.own",
    "engnn.nn.model",
    "engnn.train.evaluate",
    "engnn.train.progress",
    "engnn.train.run",
)


def become(asked: dict[str, Any]) -> int:
    """Be the process of a command; its exit code."""
    for number, path in enumerate((os.devnull, asked["out"], asked["err"])):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, number)
    os.chdir(asked["cwd"])
    os.environ.update(asked["env"])
    if asked["largest_file"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"], asked["largest_file"]))
    if asked["user"]:
        os.setgroups([])
        os.setgid(asked["user"])
        os.setuid(asked["user"])
    if asked["program"]:
        sys.argv[1:] = asked["argv"]
        runpy.run_path(asked["program"], run_name="__main__")
        return 0
    if asked["at_call"] is None:
        return main(asked["argv"])
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1
        if calls == asked["at_call"]:
            os.kill(os.getpid(), asked["signal"])

    sys.setprofile(count)
    try:
        return main(asked["argv"])
    finally:
        sys.setprofile(None)
        print(f"calls: {calls}", file=sys.stderr)


def serve() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    importlib.import_module("engnn.data.catalog").sources()
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if not answer:
                code = 1
                try:
                    code = become(asked)
                except BaseException:
                    traceback.print_exc()
                    raise
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
        print(answer, flush=True)


if __name__ == "__main__":
    serve()

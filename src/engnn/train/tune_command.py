"""The command `engnn tune`: workers on one study, each replaced when it is killed; at the end the best recipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engnn.errors import InputError, Stopped
from engnn.train import options
from engnn.train.commands import RUNS, command, configured, run_name, say, shown
from engnn.train.progress import duration

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from engnn.train.tune import Study, Trial

    Commands = _SubParsersAction[ArgumentParser]

LOOK = 0.5  # seconds between two looks at the study


def add_tune(commands: Commands) -> None:
    """`engnn tune`."""
    parser = command(commands, "tune", "search for the best settings by validation", _tune, "DATA [options]")
    parser.add_argument("data", metavar="DATA", nargs="?", help="a dataset's name, or a path to your own files")
    parser.add_argument("--trials", type=_number, default=50, help="of the whole study (50)")
    parser.add_argument("--workers", type=_number, default=1, help="processes that work on trials here (1)")
    parser.add_argument("--sampler", choices=("tpe", "random"), default="tpe", help="what proposes settings (tpe)")
    parser.add_argument("--no-pruning", action="store_true", help="train every trial to its end")
    parser.add_argument("--study", metavar="FILE", type=Path, help="the study's file, .jsonl (a new one under runs)")
    parser.add_argument(
        "--resume", action="store_true", help="go on with a study, or take part in one that is going on"
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="a recipe, for what is not searched (engnn's own)")
    parser.add_argument("--model", metavar="NAME", dest="set:model.name", help="the same as --model.name")
    options.add_options(parser)
    parser.set_defaults(out=None)


def _tune(asked: Namespace) -> None:
    if find_spec("optuna") is None:
        raise InputError("this needs optuna, which is not installed: pip install 'engnn[tune]'")
    from engnn.tasks import task_of
    from engnn.train import durable
    from engnn.train.run import new_folder
    from engnn.train.tune import Study

    config, dataset, recipe = configured(asked)
    task = task_of(dataset, metric=config.metric)
    task.check()
    path = asked.study or new_folder(RUNS, f"tune-{run_name(config)}", resume=asked.resume) / "study.jsonl"
    fixed = {name.removeprefix("set:") for name, value in vars(asked).items() if value is not None}
    study = Study.open(path, config, task, sampler=asked.sampler, fixed=fixed, resume=asked.resume)
    say(f"{dataset.name}: {config.task} task; recipe {recipe or 'none'}; searching {', '.join(study.ranges)}; {path}")
    try:
        _supervise(study, asked.trials, asked.workers, prune=not asked.no_pruning)
    except KeyboardInterrupt:
        raise Stopped from None
    finally:
        study.refresh()
        best = study.best()
        if best is not None:
            durable.write(study.recipe, options.written(study.config(best)).encode())
    if best is None:
        why = next((trial.end["why"] for trial in study.trials if trial.end and trial.end["why"]), "")
        raise InputError(f"{path}: none of {len(study.trials)} trials was complete (the first: {why})")
    said = _said(study, best)
    if asked.json:
        print(json.dumps(said, indent=2, allow_nan=False))
    _summary(said, sys.stderr if asked.json else sys.stdout)


def _supervise(study: Study, trials: int, workers: int, *, prune: bool) -> None:
    """Keep workers going until all trials have ended; one that was killed is replaced, and its trial gone on with."""
    call = [sys.executable, "-m", "engnn.train.tune", str(study.path), str(trials), str(prune)]
    environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // workers)), **os.environ}
    working: list[_Worker] = []
    printed = _Printed(study, trials)
    try:
        working.extend(_Worker(call, environment, study) for _ in range(min(workers, trials)))
        while working:
            time.sleep(LOOK)
            study.refresh()
            printed.look()
            for worker in [one for one in working if one.process.poll() is not None]:
                working.remove(worker)
                if worker.replaceable():
                    say(f"a worker was killed (signal {-worker.process.returncode}); another goes on with its trial")
                    working.append(_Worker(call, environment, study))
    finally:
        printed.end()
        for worker in working:
            worker.process.terminate()
        for worker in working:
            worker.process.wait()


class _Worker:
    """A process that works on trials. What it prints is of interest only if it ends badly."""

    def __init__(self, call: list[str], environment: dict[str, str], study: Study) -> None:
        self.study, self.size = study, study.path.stat().st_size
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process has ended)
        self.process = subprocess.Popen(
            call,
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=self.printed,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process, which then stops the workers
        )

    def replaceable(self) -> bool:
        """Whether this worker was killed, and not because it cannot work; what else went wrong is raised."""
        code = self.process.returncode
        self.printed.seek(0)
        text = self.printed.read().decode(errors="replace").strip()
        self.printed.close()
        match code:
            case 0:
                return False
            case 2:
                raise InputError(text)
            case 3:
                raise Stopped
            case _ if code > 0:
                raise ChildProcessError(f"a worker ended with exit code {code}:\n{text}")
        if self.study.path.stat().st_size == self.size:
            raise InputError(
                f"a worker was killed (signal {-code}) before it could begin: take fewer --workers if memory is short"
            )
        return True


class _Printed:
    """A line for each trial that ends, and on a terminal one that changes, on stderr."""

    def __init__(self, study: Study, trials: int) -> None:
        self.study, self.trials, self.began = study, trials, time.monotonic()
        self.known = {trial.number for trial in study.trials if trial.end is not None}
        self.before = len(self.known)

    def look(self) -> None:
        for trial in self.study.trials:
            if trial.end is not None and trial.number not in self.known:
                self.known.add(trial.number)
                self._put(f"trial {trial.number} {self._outcome(trial)}  {self._overall()}", "\n")
        running = [trial for trial in self.study.trials if trial.end is None]
        if sys.stderr.isatty():
            epochs = self.study.about["settings"]["train.epochs"]
            now = [f"trial {trial.number} epoch {max(trial.valid, default=0)}/{epochs}" for trial in running]
            self._put("  ".join([self._overall(), *now])[:200], "")

    def end(self) -> None:
        """Leave the line as it is."""
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def _put(self, line: str, end: str) -> None:
        back = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{back}{line}", end=end, flush=True, file=sys.stderr)

    def _outcome(self, trial: Trial) -> str:
        metric = self.study.about["metric"]
        if trial.state == "complete":
            return f"complete: valid {metric} {shown(trial.value)}"
        why = trial.end["why"] if trial.end else ""
        return f"{trial.state} after epoch {max(trial.valid, default=0)}: {why}"

    def _overall(self) -> str:
        best = self.study.best()
        parts = [f"{len(self.known)}/{self.trials} trials"]
        if best is not None:
            parts.append(f"best {shown(best.value)} (trial {best.number})")
        if done := len(self.known) - self.before:
            left = (time.monotonic() - self.began) / done * max(0, self.trials - len(self.known))
            parts.append(f"{duration(left)} left")
        return "  ".join(parts)


def _said(study: Study, best: Trial) -> dict[str, Any]:
    """What `--json` prints."""
    states = [trial.state for trial in study.trials]
    return {
        "study": str(study.path),
        "recipe": str(study.recipe),
        "metric": study.about["metric"],
        "higher_is_better": study.about["higher_is_better"],
        "best": {"trial": best.number, "valid": best.value, "settings": best.params},
        "trials": {state: states.count(state) for state in ("complete", "pruned", "failed", "running")},
    }


def _summary(said: dict[str, Any], out: Any) -> None:
    best = said["best"]
    rows = {
        "trials": ", ".join(f"{number} {state}" for state, number in said["trials"].items() if number),
        f"best valid {said['metric']}": f"{shown(best['valid'])} (trial {best['trial']})",
        **{name: f"{value:.4g}" for name, value in best["settings"].items()},
        "all trials": said["study"],
        "best recipe": said["recipe"],
        "train it": f"engnn train --config {said['recipe']}",
    }
    width = max(map(len, rows))
    for key, value in rows.items():
        print(f"{key.ljust(width)}  {value}", file=out)


def _number(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 1 << 16):
        raise ValueError
    return int(text)


_number.__name__ = "number"  # as argparse words its error

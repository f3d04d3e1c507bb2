"""The commands `train`, `evaluate` and `predict`; what they run is imported when they run."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engnn.errors import InputError
from engnn.train import options

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from engnn.train.config import Config

    Commands = _SubParsersAction[ArgumentParser]

RUNS = Path("runs")


def add_train(commands: Commands) -> None:
    """`engnn train`."""
    parser = command(commands, "train", "train a model, score it and keep it", _train, "[DATA] [options]")
    parser.add_argument("data", metavar="DATA", nargs="?", help="a dataset's name, or a path to your own files")
    parser.add_argument("--out", metavar="RUN", type=Path, help="the folder to write (a new one under runs)")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a recipe (the one that comes with engnn for these data)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument("--records", metavar="FILE", type=Path, help="also add the record to this file, as one line")
    parser.add_argument("--model", metavar="NAME", dest="set:model.name", help="the same as --model.name")
    options.add_options(parser)


def add_evaluate(commands: Commands) -> None:
    """`engnn evaluate`."""
    parser = command(commands, "evaluate", "score a trained model, and how sure it is", _evaluate, "RUN [options]")
    parser.add_argument("trained", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument("--data", metavar="DATA", help="other labelled data to score on (those of the run)")
    parser.add_argument("--part", default="", help="train, valid, test or everything (test; of other data, everything)")
    parser.add_argument(
        "--draws", type=_draws, help="of the noise, or auto: until more would tell nothing the data can (the run's)"
    )


def add_predict(commands: Commands) -> None:
    """`engnn predict`."""
    parser = command(commands, "predict", "what a trained model says of new data", _predict, "RUN DATA [options]")
    parser.add_argument("trained", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument("data", metavar="DATA", help="a path to your own files, or a dataset's name")
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("predictions.csv"), help="(predictions.csv)")
    parser.add_argument("--draws", type=_count, help="of the noise, to be averaged (the run's)")


def configured(asked: Namespace) -> tuple[Config, Any, str]:
    """The configuration that a call asks for, the dataset, and the recipe's name: settings from the call come last."""
    from engnn.train.run import opened, settled

    given = {name.removeprefix("set:"): value for name, value in vars(asked).items() if name.startswith("set:")}
    given = {name: value for name, value in given.items() if value is not None}
    if asked.data:
        given["data"] = asked.data
    file = asked.config
    if file is None and asked.resume and asked.out and not given and (asked.out / "config.yaml").exists():
        file = asked.out / "config.yaml"
    recipe = {} if file is None else options.read_recipe(file)
    config = options.make_config(recipe, given)
    dataset = opened(config)
    name = str(file)
    if file is None:
        name, recipe = options.default_recipe(config.data, dataset.task, config.model.name)
        config = options.make_config(recipe, given)
    return settled(config, dataset), dataset, name


def _train(asked: Namespace) -> None:
    from engnn.train.processes import Processes
    from engnn.train.progress import Printed
    from engnn.train.record import append
    from engnn.train.run import new_folder, train

    several = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if several and asked.out is None:
        raise InputError("several processes need to know of one folder: give --out")
    config, dataset, recipe = configured(asked)
    folder = asked.out or new_folder(RUNS, run_name(config), resume=asked.resume)
    processes = Processes()
    if not processes.first:
        train(config, dataset, folder, resume=asked.resume, processes=processes)
        return
    say(f"{dataset.name}: {config.task} task, {_sizes(dataset)}; recipe {recipe or 'none'}; writing {folder}")
    for note in dataset.notes:
        say(f"note: {note}")
    printed = Printed(config, config.metric)
    try:
        said = train(config, dataset, folder, resume=asked.resume, watch=printed, processes=processes)
    finally:
        printed.end()
    if asked.records is not None:
        append(asked.records, said)
    if asked.json:
        print(json.dumps(said, indent=2, allow_nan=False))
    _summary(folder, said, out=sys.stderr if asked.json else sys.stdout)


def _evaluate(asked: Namespace) -> None:
    from engnn.train.evaluate import evaluate
    from engnn.train.run import CONFIG, SPLIT, keep_split, opened
    from engnn.train.trained import load

    model = load(asked.trained)
    config = options.make_config(options.read_recipe(asked.trained / CONFIG))
    dataset = model.open(asked.data) if asked.data else opened(config)
    if not asked.data and (asked.trained / SPLIT).exists():
        keep_split(asked.trained, dataset)
    part = asked.part or ("everything" if asked.data else "test")
    said = evaluate(model, dataset, part=part, draws=asked.draws or config.draws)
    if asked.json:
        print(json.dumps(said, indent=2, allow_nan=False))
        return
    one, many, draws = said["at_1"], said["at_R"], said["draws"]
    print(f"{said['metric']} on {said['part']}, {said['targets']:,} targets: {shown(said['score'])}")
    print(f"± {shown(said['sampling_error'])} by which targets these are")
    print(f"± {shown(said['standard_error'])} by the draws of the noise, of which there were {draws}")
    print(f"with a single draw: {shown(one['score'])}")
    if said["label_flip_rate"] is not None:
        print(f"labels that a single draw changes: {said['label_flip_rate']:.2%}")
        for key, name in {"nll": "negative log-likelihood", "brier": "Brier score", "ece": "calibration error"}.items():
            print(f"{name}: {shown(one[key])} at 1 draw, {shown(many[key])} at {draws}")
    if asked.draws == "auto" and not said["converged"]:
        say(f"note: after {draws} draws the score still depends on them more than on a tenth of its sampling error")


def _predict(asked: Namespace) -> None:
    from engnn.train.trained import load

    if not asked.out.parent.is_dir() or asked.out.is_dir():
        raise InputError(f"{asked.out} cannot be written: give a file in a folder that is there")
    model = load(asked.trained)
    dataset = model.open(asked.data)
    for note in dataset.notes:
        say(f"note: {note}")
    found = model.predict(dataset, draws=asked.draws)
    found.to_csv(asked.out)
    targets = len(found.mean)
    if asked.json:
        said = {"out": str(asked.out), "targets": targets, "draws": found.draws, "columns": list(found.columns())}
        print(json.dumps(said, indent=2))
    else:
        print(f"{asked.out}: {targets} predictions, each the mean of {found.draws} draws")


def command(commands: Commands, name: str, summary: str, run: Any, usage: str) -> ArgumentParser:
    parser = commands.add_parser(
        name, help=summary, description=summary, usage=f"engnn {name} {usage}", allow_abbrev=False
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout, and nothing else there")
    parser.set_defaults(run=run)
    return parser


def _summary(folder: Path, said: dict[str, Any], out: Any) -> None:
    scores = ", ".join(f"{part} {shown(score)}" for part, score in said["scores"].items())
    rows = {
        f"{said['metric']} ({'higher' if said['higher_is_better'] else 'lower'} is better)": scores,
        "trained": f"{said['epochs']} epochs in {said['seconds']:.0f} s, best after {said['best_epoch']}",
        "model": folder / "model.safetensors",
        "record, configuration": f"{folder / 'record.json'}, {folder / 'config.yaml'}",
        "answers on test": folder / "predictions.csv",
        "scores in detail": f"engnn evaluate {folder}",
        "as a page": f"engnn report {folder}",
        "on new data": f"engnn predict {folder} DATA",
    }
    width = max(map(len, rows))
    for key, value in rows.items():
        print(f"{key.ljust(width)}  {value}", file=out)


def _sizes(dataset: Any) -> str:
    if dataset.links is not None:
        return f"{dataset.links.train.size(1):,} links to learn from"
    return ", ".join(f"{len(ids):,} {part}" for part, ids in dataset.split.items())


def run_name(config: Config) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(config.data).name).strip("-.") or "run"
    return f"{name}-{config.seed}" if config.seed else name


def shown(score: float | None) -> str:
    return "undefined" if score is None else f"{score:.4g}"


def say(text: str) -> None:
    print(f"engnn: {text}", file=sys.stderr)


def _count(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 1 << 16):
        raise ValueError
    return int(text)


def _draws(text: str) -> int | str:
    return text if text == "auto" else _count(text)


_count.__name__ = _draws.__name__ = "number of draws"  # as argparse words its error

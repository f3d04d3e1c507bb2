"""The search for settings: what is proposed, what processes that may die make of a study, what the user gets."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st
from optuna.trial import TrialState, create_trial

from engnn.errors import InputError, Stopped
from engnn.tasks import task_of
from engnn.tasks.metrics import metric
from engnn.train import options, tune
from engnn.train.finite import NotFinite
from engnn.train.run import opened, settled
from engnn.train.tune import RANGES, Study, hopeless, propose, searched

SMALL = {"model.layers": 1, "model.hidden": 8, "model.noise_channels": 4, "model.noise_dim": 4, "draws": 2}
METRIC = metric("accuracy")

Begin = Callable[..., Study]


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    """`begin(sampler, setting=value, …)`: a new study of the rates on the karate club."""

    def begun(sampler: tune.Sampler = "random", *, fixed: tuple[str, ...] = tuple(SMALL), **given: Any) -> Study:
        config = options.make_config({"data": "karate", "train.epochs": 3, **SMALL}, given)
        dataset = opened(config)
        config = settled(config, dataset)
        path = tmp_path / f"study-{len(list(tmp_path.iterdir()))}.jsonl"
        return Study.open(path, config, task_of(dataset), sampler=sampler, fixed=set(fixed), resume=False)

    return begun


def trained(study: Study, score: Callable[[int, dict[str, Any]], float], count: int, **how: Any) -> None:
    """Work on trials whose validation score after each epoch is what `score(epoch, params)` says."""

    def train(config: Any, dataset: Any, folder: Path, *, watch: Any, **more: Any) -> dict[str, Any]:
        folder.mkdir(exist_ok=True)
        params = {"train.learning_rate": config.train.learning_rate, "train.weight_decay": config.train.weight_decay}
        for epoch in range(1, config.train.epochs + 1):
            valid = score(epoch, params)
            watch.epoch({"epoch": epoch, "valid": valid})
        return {"scores": {"valid": valid}, "seconds": 1.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune, "train", train)
        tune.work(study.path, count, **how)
    study.refresh()


# what is proposed


def test_the_ranges_are_those_of_the_paper() -> None:
    assert {name: (one.low, one.high) for name, one in RANGES.items()} == {
        "model.layers": (2, 10),
        "model.hidden": (32, 128),
        "model.noise_channels": (16, 64),
        "model.noise_dim": (16, 64),
        "train.learning_rate": (1e-4, 1e-2),
        "train.weight_decay": (1e-6, 1e-1),
    }


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_proposals_lie_in_their_ranges_and_reach_all_parts_of_them(sampler: tune.Sampler, begin: Begin) -> None:
    study = begin(sampler, fixed=())
    for number in range(40):
        study.add(number, "start", params=propose(study))
    for name, one in RANGES.items():
        found = [trial.params[name] for trial in study.trials]
        assert all(one.low <= value <= one.high for value in found)
        if one.step:
            assert all((value - one.low) % one.step == 0 for value in found)
        place = math.log if not one.step else float
        middle = (place(one.low) + place(one.high)) / 2
        assert 8 <= sum(place(value) > middle for value in found) <= 32


def test_random_proposals_hang_on_nothing_but_the_seed_and_the_number(begin: Begin) -> None:
    one, same, other = begin(seed=1), begin(seed=1), begin(seed=2)
    for study, value in ((one, 0.1), (same, 0.9), (other, 0.1)):
        trained(study, lambda epoch, params, value=value: value, 5, prune=False)
    params = [[trial.params for trial in study.trials] for study in (one, same, other)]
    assert params[0] == params[1]
    assert params[0] != params[2]


def test_tpe_finds_better_settings_than_chance_where_there_is_something_to_find(begin: Begin) -> None:
    def score(epoch: int, params: dict[str, Any]) -> float:
        rate, decay = math.log10(params["train.learning_rate"]), math.log10(params["train.weight_decay"])
        return 1 / (1 + (rate + 3.5) ** 2 + (decay + 2) ** 2)

    late: dict[str, list[float]] = {"tpe": [], "random": []}
    for sampler, values in late.items():
        for seed in range(3):
            study = begin(sampler, seed=seed)
            trained(study, score, 30, prune=False)
            values.extend(trial.value or 0.0 for trial in study.trials[15:])
    assert statistics.mean(late["tpe"]) > 1.5 * statistics.mean(late["random"])


def test_a_lower_score_is_better_where_the_metric_is_an_error(begin: Begin) -> None:
    study = begin("tpe")
    trained(study, lambda epoch, params: params["train.learning_rate"], 25, prune=False)
    study.about["higher_is_better"] = False
    best = study.best()
    assert best is not None
    assert best.value == min(trial.value or 1.0 for trial in study.trials)
    study.about["higher_is_better"] = True
    assert study.best() != best


@pytest.mark.parametrize(
    ("name", "noise", "width"), [("engnn", True, True), ("gcn", False, True), ("common_neighbours", False, False)]
)
def test_what_a_model_does_not_take_is_not_searched(name: str, noise: bool, width: bool) -> None:
    config = options.make_config({"data": "small-world", "model.name": name})
    found = searched(config, task_of(opened(config)))
    assert ("model.noise_channels" in found) == ("model.noise_dim" in found) == noise
    assert ("model.layers" in found) == ("model.hidden" in found) == width
    assert {"train.learning_rate", "train.weight_decay"} <= found.keys()


# pruning


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=0, max_size=9),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_pruning_is_by_the_median_as_optuna_has_it(others: list[list[float]], mine: list[float]) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    for scores in others:
        study.add_trial(create_trial(value=scores[-1], intermediate_values=dict(enumerate(scores, 1))))
    study.add_trial(create_trial(state=TrialState.RUNNING, intermediate_values=dict(enumerate(mine, 1))))
    theirs = optuna.pruners.MedianPruner(n_startup_trials=tune.COMPARED).prune(study, study.trials[-1])
    ours = hopeless(dict(enumerate(mine, 1)), [dict(enumerate(one, 1)) for one in others], len(mine), METRIC)
    assert ours == theirs


def test_a_hopeless_trial_is_pruned_and_a_good_one_is_not(begin: Begin) -> None:
    study = begin(**{"train.epochs": 20})
    values = iter([0.5, 0.5, 0.5, 0.5, 0.5, 0.1, 0.9])
    now: dict[tuple[float, ...], float] = {}

    def constant(epoch: int, params: dict[str, Any]) -> float:
        key = tuple(params.values())
        if key not in now:
            now[key] = next(values)
        return now[key]

    trained(study, constant, 7)
    assert [trial.state for trial in study.trials] == ["complete"] * 5 + ["pruned", "complete"]
    assert max(study.trials[5].valid) == 5  # the first fifth is not judged
    best = study.best()
    assert best is not None
    assert best.number == 6
    assert list(study.path.with_suffix("").glob("00[0-9][0-9]")) == []  # runs of trials that have ended are gone


# what is no score


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_a_trial_without_a_finite_score_is_never_complete(value: float | None, begin: Begin) -> None:
    study = begin()

    def train(*given: Any, **more: Any) -> dict[str, Any]:
        return {"scores": {"valid": value}, "seconds": 1.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune, "train", train)
        tune.work(study.path, 2)
    study.refresh()
    assert [trial.state for trial in study.trials] == ["failed", "failed"]
    assert study.best() is None


@pytest.mark.parametrize("error", [NotFinite("the loss is nan"), torch.OutOfMemoryError("too much")])
def test_a_trial_that_cannot_be_trained_fails_and_the_next_one_is_tried(error: Exception, begin: Begin) -> None:
    study = begin()
    rates: list[float] = []

    def score(epoch: int, params: dict[str, Any]) -> float:
        rates.append(params["train.learning_rate"])
        if rates[0] == rates[-1]:
            raise error
        return 0.5

    trained(study, score, 3)
    assert [trial.state for trial in study.trials] == ["failed", "complete", "complete"]
    assert (study.trials[0].end or {})["why"] == str(error)


def test_a_real_loss_that_explodes_fails_its_trial(begin: Begin) -> None:
    study = begin(
        fixed=("train.learning_rate", *SMALL), **{"train.learning_rate": 1e3, "train.clip": 0, "train.epochs": 60}
    )
    tune.work(study.path, 1)
    study.refresh()
    assert [trial.state for trial in study.trials] == ["failed"]
    assert "finite" in (study.trials[0].end or {})["why"]


def test_what_is_wrong_with_the_call_or_the_disk_ends_no_trial(begin: Begin) -> None:
    study = begin()

    def score(epoch: int, params: dict[str, Any]) -> float:
        raise InputError("disk full")

    with pytest.raises(InputError, match="disk full"):
        trained(study, score, 3)
    study.refresh()
    assert [trial.state for trial in study.trials] == ["running"]


# processes that die


def test_no_two_workers_have_one_trial_and_a_dead_ones_is_taken_up_first(begin: Begin) -> None:
    study = begin()
    one, two, three = (Study(study.path) for _ in range(3))
    with one.claim(9) as first, two.claim(9) as second:
        assert first is not None
        assert second is not None
        assert (first.number, second.number) == (0, 1)
        two.add(1, "end", state="complete", value=0.5, why="")
    with three.claim(9) as again:
        assert again is not None
        assert (again.number, again.params) == (0, first.params)


def test_of_a_trial_that_ends_twice_the_first_end_counts(begin: Begin) -> None:
    study = begin()
    with study.claim(1):
        study.add(0, "end", state="complete", value=0.25, why="")
    study.add(0, "end", state="complete", value=0.75, why="")
    assert [trial.value for trial in Study(study.path).trials] == [0.25]


def test_a_trial_that_ends_its_process_again_and_again_fails_unless_it_gets_on(begin: Begin) -> None:
    study = begin()
    for _ in range(tune.TRIES):
        with study.claim(1) as trial:
            assert trial is not None
    with study.claim(1) as trial:
        assert trial is None
    assert [trial.state for trial in study.trials] == ["failed"]

    study = begin()
    for epoch in range(3 * tune.TRIES):
        with study.claim(1) as trial:
            assert trial is not None
            study.add(0, "epoch", epoch=epoch, valid=0.5)


def test_a_trial_that_is_stopped_any_number_of_times_goes_on(begin: Begin) -> None:
    study = begin()

    def stop(epoch: int, params: dict[str, Any]) -> float:
        raise Stopped

    for _ in range(2 * tune.TRIES):
        with pytest.raises(Stopped):
            trained(study, stop, 1)
    trained(study, lambda epoch, params: 0.5, 1)
    assert [trial.state for trial in study.trials] == ["complete"]


def test_a_line_that_is_cut_off_anywhere_costs_that_event_alone(begin: Begin) -> None:
    study = begin()
    for number in range(2):
        with study.claim(2):
            study.add(number, "end", state="complete", value=number / 2, why="")
    whole = study.path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for cut in range(last, len(whole)):
        study.path.write_bytes(whole[:cut])
        read = Study(study.path)
        assert [trial.state for trial in read.trials] == ["complete", "running"]
        with read.claim(2) as trial:
            assert trial is not None
            assert trial.number == 1
            read.add(1, "end", state="complete", value=0.75, why="")
        assert {trial.value for trial in Study(study.path).trials} <= {0.0, 0.5, 0.75}
        assert [trial.state for trial in Study(study.path).trials] == ["complete", "complete"]


def test_the_study_is_the_same_with_workers_that_are_killed_all_the_time(
    begin: Begin, own_data: Callable[[str], Path]
) -> None:
    """Killed at random places of the study; by the events that are in the file, so that no clock decides."""
    trials = 6
    given = {"data": str(own_data("values")), "train.epochs": 6, "train.checkpoint_steps": 2}
    calm, wild = begin(**given), begin(**given)
    tune.work(calm.path, trials, prune=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["engnn.train.tune", "torch._dynamo", "torch_geometric.data", "optuna"])

    def start() -> Any:
        worker = context.Process(target=tune.work, args=(wild.path, trials), kwargs={"prune": False})
        worker.start()
        return worker

    draw, killed = random.Random(0), 0
    workers = [start() for _ in range(3)]
    while killed < 12 and any(worker.is_alive() for worker in workers):
        size = wild.path.stat().st_size + draw.randrange(600)
        while all(worker.is_alive() for worker in workers):
            wild.refresh()
            if wild.path.stat().st_size >= size and all(one.tries < 2 for one in wild.trials if one.end is None):
                break  # no trial dies so often in one place that it is given up
            workers[0].join(0.001)
        place = draw.randrange(3)
        workers[place].kill()
        workers[place].join()
        killed += workers[place].exitcode == -signal.SIGKILL
        workers[place] = start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    for study in (calm, wild):
        study.refresh()
    outcomes = [
        [(trial.params, trial.valid, trial.state, trial.value) for trial in study.trials] for study in (calm, wild)
    ]
    assert outcomes[0] == outcomes[1]  # to the bit
    assert len({score for trial in calm.trials for score in trial.valid.values()}) > 20
    lines = [json.loads(line) for line in wild.path.read_text().splitlines()]
    assert sorted(line["trial"] for line in lines if line.get("event") == "start") == list(range(trials))
    assert sorted(line["trial"] for line in lines if line.get("event") == "end") == list(range(trials))
    assert any(line.get("event") == "again" for line in lines)


# what the user sees

CALL = ("tune", "karate", *(f"--{name}={value}" for name, value in SMALL.items()), "--train.epochs=3", "--trials=2")


def test_the_best_recipe_trains_to_the_score_of_the_best_trial(engnn: Any, tmp_path: Path) -> None:
    ended = engnn(*CALL, "--study=s.jsonl", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    assert said["trials"] == {"complete": 2, "pruned": 0, "failed": 0, "running": 0}
    assert "trial 1 complete" in ended.err
    assert set(said["best"]["settings"]) == {"train.learning_rate", "train.weight_decay"}
    recipe = yaml.safe_load((tmp_path / said["recipe"]).read_text())
    assert recipe["train"]["learning_rate"] == said["best"]["settings"]["train.learning_rate"]
    ended = engnn("train", "--config", said["recipe"], "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["scores"]["valid"] == said["best"]["valid"]

    again = engnn(*CALL, "--study=s.jsonl", cwd=tmp_path)
    assert (again.code, again.out) == (2, "")
    assert "--resume" in again.err
    other = engnn(*CALL, "--study=s.jsonl", "--resume", "--seed=4", cwd=tmp_path)
    assert other.code == 2
    assert "seed was 0 and is 4" in other.err
    more = engnn(*CALL, "--study=s.jsonl", "--resume", "--trials=3", "--json", cwd=tmp_path)
    assert more.code == 0, more.err
    assert json.loads(more.out)["trials"]["complete"] == 3


LONG = (*CALL, "--study=s.jsonl", "--trials=1", "--train.epochs=120", "--train.checkpoint_steps=20", "--json")


def test_a_killed_worker_is_replaced_and_a_stopped_search_goes_on(engnn: Any, tmp_path: Path) -> None:
    running = engnn.start(*LONG, cwd=tmp_path)
    study = epochs_done(tmp_path / "s.jsonl", 3)
    (worker,) = children(running.pid)
    os.kill(worker, signal.SIGKILL)
    done = epochs_done(study.path, len(study.trials[0].valid) + 3)
    running.kill(signal.SIGTERM)
    ended = running.end()
    assert (ended.code, ended.out) == (3, "")
    assert "another goes on with its trial" in ended.err
    assert "--resume" in ended.err
    done.refresh()
    events = [json.loads(line).get("event") for line in study.path.read_text().splitlines()]
    assert events[-1] == "stopped"
    assert events.count("again") == 1

    ended = engnn(*LONG, "--resume", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["trials"] == {"complete": 1, "pruned": 0, "failed": 0, "running": 0}
    assert [len(trial.valid) for trial in Study(study.path).trials] == [120]


def test_workers_end_when_who_started_them_is_killed(engnn: Any, tmp_path: Path) -> None:
    running = engnn.start(*LONG, cwd=tmp_path)
    study = epochs_done(tmp_path / "s.jsonl", 1)
    (worker,) = children(running.pid)
    running.kill()
    running.end()
    while Path(f"/proc/{worker}").exists():
        time.sleep(0.01)
    study.refresh()
    assert study.trials[0].state == "running"
    assert len(study.trials[0].valid) < 120


def epochs_done(path: Path, count: int) -> Study:
    """The study, once its first trial has so many epochs."""
    while not path.exists():
        time.sleep(0.01)
    study = Study(path)
    while not (study.trials and len(study.trials[0].valid) >= count):
        time.sleep(0.01)
        study.refresh()
    return study


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trials=0"], "--trials"),
        (["--workers=x"], "--workers"),
        (["--study=s.db"], ".jsonl"),
        (["--sampler=grid"], "--sampler"),
        (["--modle.layers=3"], "--model.layers"),
        (["--train.learning_rate=0.01", "--train.weight_decay=0"], "all settings"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(
    words: list[str], said: str, engnn: Any, tmp_path: Path
) -> None:
    ended = engnn(*CALL, *words, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_file_that_is_no_study_is_refused_and_left_alone(engnn: Any, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"dataset": "cora"}\n')
    ended = engnn(*CALL, "--study=s.jsonl", "--resume", cwd=tmp_path)
    assert ended.code == 2
    assert "is no study" in ended.err
    assert (tmp_path / "s.jsonl").read_text() == '{"dataset": "cora"}\n'

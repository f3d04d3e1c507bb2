"""The loop does what a plain training loop does, and what it adds does what it says."""

from __future__ import annotations

import json
import math
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engnn.data import own
from engnn.data.dataset import Dataset
from engnn.data.sources.counting import counting_graphs
from engnn.errors import InputError, Stopped
from engnn.tasks import task_of
from engnn.tasks.batch import WHOLE
from engnn.tasks.task import Task
from engnn.train.answers import WEIGHTS, mean_answers, word
from engnn.train.config import Config
from engnn.train.finite import NotFinite
from engnn.train.loop import Training
from engnn.train.models import answer
from engnn.train.options import make_config
from engnn.train.run import train

TINY = {"model.layers": 1, "model.hidden": 8, "model.noise_channels": 4, "model.noise_dim": 4, "model.noise": "normal"}


def config(**settings: Any) -> Config:
    """A small model, and settings by name, `__` for a dot."""
    few = {"train.epochs": 3, "train.batch_size": 4, "train.device": "cpu", "draws": 2}
    return make_config(TINY | few | {name.replace("__", "."): value for name, value in settings.items()})


@pytest.fixture(scope="module")
def counting() -> Task:
    """Triangles at each node of twenty graphs."""
    return task_of(counting_graphs(12, 4, 4, patterns=["3-cycle"]))


def weights(training: Training) -> Tensor:
    return torch.cat([one.detach().flatten() for one in training.model.parameters()])


def test_it_is_adamw_on_l1_with_a_rise_and_a_cosine(counting: Task) -> None:
    settings = config(
        train__clip=0.5,
        train__weight_decay=0.1,
        train__warmup=0.4,
        train__learning_rate=0.01,
        train__evaluate_every=100,  # at the end alone, so that the last weights are the best
    )
    training = Training(counting, settings)
    training.fit()

    torch.manual_seed(word(0, WEIGHTS))
    plain = type(training.model)(**training.arguments)
    optimizer = torch.optim.AdamW(plain.parameters(), 0.01, weight_decay=0.1)
    steps, step = 9, 0
    for epoch in range(3):
        for batch in counting.epoch(epoch, 4, seed=0, share=WHOLE):
            rise = min(1, (step + 1) / (0.4 * steps))
            optimizer.param_groups[0]["lr"] = 0.01 * rise * (1 + math.cos(math.pi * step / steps)) / 2
            out = answer(plain, batch, seed=0, draw=step)
            mean, scale = (torch.tensor(one) for one in (counting.answer.mean, counting.answer.scale))  # type: ignore[union-attr]
            assert batch.y is not None
            loss = torch.nn.functional.l1_loss(out, (batch.y - mean) / scale)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
            optimizer.step()
            step += 1
    assert training.now.step == steps
    assert torch.allclose(
        weights(training), torch.cat([one.detach().flatten() for one in plain.parameters()]), atol=1e-5
    )


def test_every_step_has_noise_of_its_own_and_the_same_seed_the_same(counting: Task) -> None:
    training = Training(counting, config())
    batch = training.batches[0]

    def out(step: int, seed: int = 0) -> Tensor:
        return answer(training.model, batch, seed=seed, draw=step).detach()

    assert torch.equal(out(0), out(0))
    assert not torch.equal(out(0), out(1))
    assert not torch.equal(out(0), out(0, seed=1))
    losses = [training._loss(training.model, batch, 0)[0].item() for _ in range(2)]
    assert losses[0] == losses[1]
    assert training._loss(training.model, batch, 1)[0].item() != losses[0]


def test_answers_are_averages_over_draws_whose_noise_training_never_saw(counting: Task) -> None:
    training = Training(counting, config())
    one = [mean_answers(training.model, counting, "test", size=4, seed=0, draws=draws) for draws in (1, 4)]
    assert one[0].spread.abs().max() == 0
    assert one[1].spread.min() > 0
    batch = counting.part("test", 100, share=WHOLE)[0]
    with torch.no_grad():
        seen = [counting.answer.decode(answer(training.model.eval(), batch, seed=0, draw=draw)) for draw in range(4)]
    assert not torch.allclose(torch.stack(seen).mean(0), one[1].mean)


def test_the_learning_rate_rises_then_falls_to_nothing(counting: Task) -> None:
    training = Training(counting, config(train__warmup=0.3, train__epochs=100, train__learning_rate=1.0))
    steps = 100 * len(training.batches)
    rates = []
    for training.now.step in range(steps):
        rates.append(training.rate())
    top = rates.index(max(rates))
    assert abs(top - 0.3 * steps) < 0.05 * steps
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] < 1e-4


def test_training_ends_when_nothing_was_better_for_long_and_keeps_the_best(counting: Task) -> None:
    training = Training(counting, config(train__epochs=50, train__patience=2, train__learning_rate=1e-9))
    scores = iter([0.5, 0.3, 0.4, 0.35, 0.1])
    kept = []

    class Script:
        def score(self, part: str, answers: Tensor) -> float:
            kept.append(weights(training))
            return next(scores)

        def __getattr__(self, name: str) -> Any:
            return getattr(counting, name)

    training.task = Script()  # type: ignore[assignment]
    training.fit()
    assert training.now.epoch == 4
    assert training.now.best == 0.3
    assert training.now.best_epoch == 2
    assert torch.equal(weights(training), kept[1])


def test_an_average_of_the_weights_is_what_is_kept(counting: Task) -> None:
    training = Training(counting, config(train__average=0.9, train__epochs=1))
    by_hand = weights(training)
    path = []
    step = training.step

    def noted(stopping: bool = False) -> tuple[float, bool]:
        ended = step(stopping)
        path.append(weights(training))
        return ended

    training.step = noted  # type: ignore[method-assign]
    training.fit()
    for after in path:
        by_hand = 0.9 * by_hand + 0.1 * after
    assert torch.allclose(weights(training), by_hand, atol=1e-6)
    assert not torch.allclose(weights(training), path[-1], atol=1e-6)


def test_gradients_are_cut_to_a_norm_or_left(counting: Task) -> None:
    def norm(clip: float) -> float:
        training = Training(counting, config(train__clip=clip))
        training.step()
        grads = [one.grad.flatten() for one in training.model.parameters() if one.grad is not None]
        return float(torch.cat(grads).norm())

    free = norm(0.0)
    assert norm(free / 2) == pytest.approx(free / 2, rel=1e-4)
    assert norm(2 * free) == pytest.approx(free, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # of torch's own compiler
def test_half_precision_and_compilation_change_little(counting: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(**settings: Any) -> float:
        training = Training(counting, config(train__epochs=1, **settings))
        assert {one.dtype for one in training.model.parameters()} == {torch.float32}
        training.fit()
        return float(training.now.history[0]["loss"])

    plain = loss()
    half = loss(train__precision="bfloat16")
    assert half != plain
    assert half == pytest.approx(plain, rel=0.02)
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda model, **how: compiled(model, backend="eager", **how))
    assert loss(train__compile=True) == pytest.approx(plain, rel=1e-4)


def test_in_deterministic_mode_two_runs_are_equal_to_the_bit_and_the_switch_is_put_back(counting: Task) -> None:
    settings = config(train__deterministic=True)
    records = [train(settings, counting.dataset) for _ in range(2)]
    assert torch.are_deterministic_algorithms_enabled()
    assert records[0]["scores"] == records[1]["scores"]
    train(config(), counting.dataset)
    assert not torch.are_deterministic_algorithms_enabled()


def start_two(engnn: Any, *command: object) -> list[Any]:
    """The same command in two processes that know of one another, as torchrun starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    return [engnn.start(*command, env=where | {"RANK": rank, "LOCAL_RANK": rank}) for rank in ("0", "1")]


def test_several_processes_have_the_losses_and_scores_of_one(
    engnn: Any, own_data: Callable[[str], Path], tmp_path: Path
) -> None:
    for task in ("graph", "link"):
        tiny = [f"--{name}={value}" for name, value in TINY.items()]
        command = ["train", own_data(task), "--task", task, "--train.epochs=3", "--train.batch_size=5", *tiny]
        alone = engnn(*command, "--out", tmp_path / task / "one")
        assert alone.code == 0, alone.err
        for one in start_two(engnn, *command, "--out", tmp_path / task / "two"):
            ended = one.end()
            assert ended.code == 0, ended.err
        rows = [
            [json.loads(line) for line in (tmp_path / task / run / "metrics.jsonl").read_text().splitlines()]
            for run in ("one", "two")
        ]
        for a, b in zip(*rows, strict=True):
            assert b["loss"] == pytest.approx(a["loss"], rel=1e-4)
            assert b["valid"] == pytest.approx(a["valid"], abs=1e-3)
            assert b["step"] == a["step"]


def test_a_signal_to_one_of_several_processes_stops_all_at_one_step(
    engnn: Any, own_data: Callable[[str], Path], tmp_path: Path
) -> None:
    tiny = [f"--{name}={value}" for name, value in TINY.items()]
    command = ["train", own_data("graph"), *tiny, "--train.epochs=100000", "--out", tmp_path / "run", "--resume"]
    both = start_two(engnn, *command)
    both[0].wait_for("epoch 1/")
    both[1].kill(signal.SIGTERM)
    for one in both:
        ended = one.end()
        assert ended.code == 3, ended.err
    assert (tmp_path / "run" / "checkpoint" / "latest").exists()


@pytest.mark.parametrize("layer", ["lin_z", "convs.0", "convs.1", "readout"])
def test_a_loss_that_is_not_finite_stops_within_its_step_and_names_the_place(layer: str, counting: Task) -> None:
    training = Training(counting, config(model__layers=2))
    training.step()
    with torch.no_grad():
        for parameter in training.model.get_submodule(layer).parameters():
            parameter.fill_(1e38)
    before = weights(training)
    with pytest.raises(NotFinite) as stop:
        training.step()
    said = str(stop.value)
    assert "step 2 (epoch 1, batch 2 of 3, graph(s)" in said
    assert f"the first layer whose output is not finite is {layer}" in said
    assert "lower --train.learning_rate (it is 0.002)" in said
    assert training.now.step == 1
    assert torch.equal(weights(training), before)


def test_a_gradient_that_is_not_finite_stops_it_before_the_weights_move(counting: Task) -> None:
    training = Training(counting, config())
    name, parameter = "lin_z.weight", training.model.get_parameter("lin_z.weight")
    parameter.register_hook(lambda grad: grad * torch.nan)
    before = weights(training)
    with pytest.raises(NotFinite, match=rf"step 1 \(epoch 1, batch 1 of 3.*the gradient of {name} is not finite"):
        training.step()
    assert torch.equal(weights(training), before)


def test_reading_one_step_behind_as_on_a_gpu_changes_nothing_in_the_end(counting: Task) -> None:
    def run(behind: bool) -> tuple[Tensor, list[Any]]:
        training = Training(counting, config(train__checkpoint_steps=2))
        training.behind = behind
        training.fit(save=lambda: None)
        rows = [{key: value for key, value in row.items() if key != "seconds"} for row in training.now.history]
        return weights(training), rows

    at_once, later = run(False), run(True)
    assert torch.equal(at_once[0], later[0])
    assert at_once[1] == later[1]


def test_one_step_behind_it_still_stops_with_finite_weights_and_names_the_step(counting: Task) -> None:
    training = Training(counting, config())
    training.behind = True
    calls = iter([1.0, math.nan, 1.0])
    training.model.get_parameter("lin_z.weight").register_hook(lambda grad: grad * next(calls))
    training.step()
    before = weights(training)
    training.step()
    assert torch.equal(weights(training), before)
    with pytest.raises(NotFinite, match=r"step 2 \(epoch 1, batch 2 of 3"):
        training.step()
    assert torch.equal(weights(training), before)


def test_no_checkpoint_is_made_of_weights_that_are_not_finite(counting: Task) -> None:
    training = Training(counting, config(train__epochs=1))
    saved: list[int] = []

    class Break:
        def step(self, now: Any, batches: int, loss: float) -> None:
            if now.step == 2:
                with torch.no_grad():
                    training.model.get_parameter("lin_z.weight").fill_(torch.nan)

        def epoch(self, row: dict[str, Any]) -> None: ...

    with pytest.raises(NotFinite):
        training.fit(save=lambda: saved.append(training.now.step), watch=Break())
    assert saved == []


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_asked_to_stop_it_saves_within_one_step(counting: Task, steps: int) -> None:
    training = Training(counting, config())
    saved: list[int] = []
    with pytest.raises(Stopped):
        training.fit(save=lambda: saved.append(training.now.step), stopping=lambda: training.now.step >= steps)
    assert saved in ([steps], [steps + 1])


def test_checkpoints_come_as_often_as_they_are_asked_for(counting: Task) -> None:
    saved: list[int] = []
    training = Training(counting, config(train__checkpoint_steps=2))
    training.fit(save=lambda: saved.append(training.now.step))
    assert saved == [2, 4, 6, 8, 9]


def test_from_any_saved_state_the_rest_is_the_same_to_the_bit(counting: Task) -> None:
    settings = config(train__average=0.5, model__dropout=0.2)
    states: list[tuple[dict[str, Tensor], dict[str, Any]]] = []
    training = Training(counting, settings)

    def save() -> None:
        tensors, now = training.state()
        states.append(({name: one.clone() for name, one in tensors.items()}, json.loads(json.dumps(now))))

    training.config = config(train__average=0.5, model__dropout=0.2, train__checkpoint_steps=1)
    training.fit(save=save)
    assert len(states) == 10
    for tensors, now in states:
        again = Training(counting, settings)
        again.restore(tensors, now)
        again.fit()
        assert torch.equal(weights(again), weights(training))
        strip = [{key: value for key, value in row.items() if key != "seconds"} for row in again.now.history]
        assert strip == [{k: v for k, v in row.items() if k != "seconds"} for row in training.now.history]


def test_a_watcher_may_end_a_trial_after_any_epoch_and_nothing_is_written(counting: Task, tmp_path: Path) -> None:
    class Pruned(Exception): ...

    rows = []

    class Pruner:
        def step(self, now: Any, batches: int, loss: float) -> None: ...

        def epoch(self, row: dict[str, Any]) -> None:
            rows.append(row)
            if row["epoch"] == 2:
                raise Pruned

    with pytest.raises(Pruned):
        train(config(), counting.dataset, watch=Pruner())
    assert [row["epoch"] for row in rows] == [1, 2]
    assert rows[0].keys() == {"epoch", "step", "seconds", "learning_rate", "loss", "valid", "best"}
    said = train(config(), counting.dataset, parts=("valid",))
    assert said["scores"]["valid"] is not None
    assert said["scores"]["test"] is None


def test_it_learns(own_data: Callable[[str], Path]) -> None:
    data = own.read(own_data("values"))  # degrees of nodes: the layer's own sum
    record = train(config(train__epochs=60, train__learning_rate=0.01, model__layers=2), data)
    assert record["scores"]["valid"] < 0.4
    assert record["scores"]["train"] < 0.4
    untrained = train(config(train__epochs=1, train__learning_rate=1e-9), data)
    assert untrained["scores"]["valid"] > 2 * record["scores"]["valid"]


def test_a_dataset_with_nothing_to_learn_from_is_refused(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("brec")
    with pytest.raises(InputError, match="no labels and no split"):
        train(config(), dataset)

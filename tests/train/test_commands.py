"""`engnn train`, `evaluate` and `predict`, each in a process of its own: what they write, say and refuse."""

from __future__ import annotations

import csv
import json
import os
import pickle
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from engnn.data.dataset import Dataset

TINY = (
    *("--model.layers=1", "--model.hidden=8", "--model.noise_channels=4", "--model.noise_dim=4"),
    *("--model.noise=normal", "--train.epochs=3", "--train.batch_size=8", "--draws=3"),
)
TASKS = ("node", "values", "link", "subgraph", "graph")
FILES = {
    "checkpoint",
    "config.yaml",
    "metrics.jsonl",
    "model.json",
    "model.safetensors",
    "predictions.csv",
    "record.json",
    "split.safetensors",
}
RECORD = (
    *("dataset", "provenance", "task", "model", "variant", "config", "seed", "metric", "higher_is_better", "scores"),
    *("draws", "epochs", "seconds", "peak_memory_bytes", "parameters", "hardware", "versions", "revision", "complete"),
)
Data = Callable[[str], Path]
Runs = Callable[[str], Path]


def arguments(task: str) -> list[str]:
    return ["--task", "link"] if task == "link" else []


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def runs(engnn: Any, own_data: Data, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """`runs(task)`: the folder of a finished run."""
    made: dict[str, Path] = {}

    def run(task: str) -> Path:
        if task not in made:
            made[task] = tmp_path_factory.mktemp("runs") / task
            command = [
                "train",
                own_data(task),
                *arguments(task),
                "--out",
                made[task],
                *TINY,
                "--train.checkpoint_steps=1",
            ]
            ended = engnn(*command, "--json", "--records", made[task].parent / "records.jsonl")
            assert ended.code == 0, ended.err
            (made[task].parent / "printed.json").write_text(ended.out)
        return made[task]

    return run


def refused(ended: Any, *words: str) -> None:
    """Fails unless a command ended as one whose input or call is wrong."""
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    *before, said = ended.err.splitlines()
    assert said.startswith("engnn: "), ended.err
    assert all(line.startswith(("engnn: ", "epoch ")) for line in before), ended.err
    for word in words:
        assert word in said, said


@pytest.mark.parametrize("task", TASKS)
def test_a_run_leaves_what_it_says_and_its_record_is_what_it_prints(task: str, runs: Runs) -> None:
    run = runs(task)
    assert {path.name for path in run.iterdir()} == FILES
    record = json.loads((run / "record.json").read_text())
    assert set(RECORD) <= record.keys()
    assert record["complete"] is True
    assert record == json.loads((run.parent / "printed.json").read_text())
    assert record == json.loads((run.parent / "records.jsonl").read_text())
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert rows[-1]["best"] == (max if record["higher_is_better"] else min)(row["valid"] for row in rows)
    about = json.loads((run / "model.json").read_text())
    assert about["noise"] == "normal"
    assert {"arguments", "scheme", "answer", "versions", "task"} <= about.keys()
    with safe_open(run / "model.safetensors", "pt") as file:
        assert sum(file.get_tensor(name).numel() for name in file.keys()) == record["parameters"]  # noqa: SIM118


def test_a_run_is_neither_scored_on_data_that_have_changed_nor_gone_on_with(
    engnn: Any, own_data: Data, tmp_path: Path
) -> None:
    """Of another file of nodes another split is drawn, in which nodes that were learnt from would be tested on."""
    shutil.copytree(own_data("node"), tmp_path / "data")
    train = ["train", tmp_path / "data", "--out", tmp_path / "run", *TINY]
    assert engnn(*train).code == 0
    assert engnn("evaluate", tmp_path / "run").code == 0
    with (tmp_path / "data" / "nodes.csv").open("r+") as file:
        rows = file.read().splitlines(keepends=True)
        file.writelines(row.replace(row.partition(",")[0], f"new{number}", 1) for number, row in enumerate(rows[1:4]))
    (tmp_path / "run" / "record.json").unlink()
    for command in (["evaluate", tmp_path / "run"], [*train, "--resume"]):
        refused(engnn(*command), "split.safetensors", "put the data back as they were")


def test_its_config_yaml_makes_the_same_run_again(engnn: Any, runs: Runs, tmp_path: Path) -> None:
    again = engnn("train", "--config", runs("graph") / "config.yaml", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    for name in ("config.yaml", "model.safetensors", "model.json", "predictions.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (runs("graph") / name).read_bytes(), name


def test_another_seed_is_another_run_and_the_same_the_same(
    engnn: Any, own_data: Data, runs: Runs, tmp_path: Path
) -> None:
    for seed in (0, 1):
        engnn(
            "train",
            own_data("graph"),
            "--out",
            tmp_path / str(seed),
            *TINY,
            "--train.checkpoint_steps=1",
            "--seed",
            seed,
        )
    weights = [(run / "model.safetensors").read_bytes() for run in (tmp_path / "0", tmp_path / "1", runs("graph"))]
    assert weights[0] == weights[2]
    assert weights[0] != weights[1]


@pytest.mark.parametrize("task", TASKS)
def test_new_files_are_answered_with_their_own_ids_on_another_machine(
    task: str, engnn: Any, runs: Runs, write: Callable[..., None], tmp_path: Path
) -> None:
    write(tmp_path / "new", task, seed=1, labels=False)
    alone = tmp_path / "elsewhere"  # the model's two files, without the run and its data
    alone.mkdir()
    for name in ("model.json", "model.safetensors"):
        shutil.copy(runs(task) / name, alone)
    ended = engnn("predict", alone, tmp_path / "new", "--out", tmp_path / "out.csv", "--draws=4", "--json")
    assert ended.code == 0, ended.err
    rows = table(tmp_path / "out.csv")
    said = json.loads(ended.out)
    assert said == {"out": str(tmp_path / "out.csv"), "targets": len(rows), "draws": 4, "columns": list(rows[0])}
    if task == "link":
        asked = table(tmp_path / "new" / "links.csv")
        assert [(row["source"], row["target"]) for row in rows] == [(row["source"], row["target"]) for row in asked]
    else:
        name = {"node": "nodes", "values": "nodes", "subgraph": "subgraphs"}.get(task, "nodes")
        asked = table(tmp_path / "new" / f"{name}.csv")
        ids = list(dict.fromkeys(row["graph"] for row in asked)) if task == "graph" else [row["id"] for row in asked]
        assert [row["id"] for row in rows] == ids
    spreads = [float(row[name]) for row in rows for name in row if name.startswith("spread:")]
    assert min(spreads) >= 0
    assert max(spreads) > 0
    if task == "values":
        assert rows[0].keys() == {"id", "label", "spread:label"}
        return
    probabilities = [[float(row[name]) for name in row if name.startswith("p:")] for row in rows]
    assert all(0 <= one <= 1 for row in probabilities for one in row)
    assert all(float(row["entropy"]) > 0 for row in rows)
    if task != "link":
        assert all(sum(row) == pytest.approx(1) for row in probabilities)
        likeliest = [max(row, key=lambda name: float(row[name]) if name.startswith("p:") else -1) for row in rows]
        assert [row["prediction"] for row in rows] == [name.removeprefix("p:") for name in likeliest]


@pytest.mark.parametrize("task", ["values", "link", "graph"])
def test_the_run_its_evaluation_and_its_predictions_agree(task: str, engnn: Any, runs: Runs) -> None:
    record = json.loads((runs(task) / "record.json").read_text())
    ended = engnn("evaluate", runs(task), "--json")
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    assert said["score"] == pytest.approx(record["scores"]["test"])
    assert said["draws"] == record["draws"] == 3
    rows = table(runs(task) / "predictions.csv")
    assert said["targets"] == len(rows)
    if task == "graph":
        assert said["score"] == pytest.approx(sum(row["label"] == row["prediction"] for row in rows) / len(rows))
    if task == "values":
        assert said["score"] == pytest.approx(
            sum(abs(float(row["label"]) - float(row["label:label"])) for row in rows) / len(rows)
        )
        assert said["label_flip_rate"] is None


def test_other_labelled_data_are_scored_by_the_models_own_scheme(engnn: Any, own_data: Data, runs: Runs) -> None:
    said = json.loads(engnn("evaluate", runs("graph"), "--data", own_data("graph"), "--json").out)
    assert (said["part"], said["targets"]) == ("everything", 24)
    parts = [
        json.loads(engnn("evaluate", runs("graph"), "--part", part, "--json").out)
        for part in ("train", "valid", "test")
    ]
    assert said["score"] == pytest.approx(sum(one["score"] * one["targets"] for one in parts) / 24)
    refused(engnn("evaluate", runs("graph"), "--part", "tset"), "did you mean 'test'")


def test_draws_are_added_until_they_matter_no_more(engnn: Any, runs: Runs) -> None:
    ended = engnn("evaluate", runs("link"), "--draws", "auto", "--json")
    said = json.loads(ended.out)
    assert said["draws"] in (4, 8, 16, 32, 64, 128, 256)
    assert said["converged"] == (said["standard_error"] <= 0.1 * said["sampling_error"])
    assert said["converged"] or said["draws"] == 256
    people = engnn("evaluate", runs("link"), "--draws", "2")
    assert people.code == 0
    assert "negative log-likelihood" in people.out
    assert "labels that a single draw changes" in people.out


def test_a_person_sees_loss_score_speed_time_left_and_where_everything_is(
    engnn: Any, own_data: Data, tmp_path: Path
) -> None:
    ended = engnn("train", own_data("node"), *TINY, cwd=tmp_path)
    line = r"epoch 3/3  loss [\d.]+  valid accuracy [\d.]+ \(best [\d.]+\)  [\d.e+]+ steps/s  0 s left"
    assert re.search(line, ended.err)
    assert "\r" not in ended.err  # no moving line where there is no terminal
    run = tmp_path / "runs" / "node"
    for path in ("model.safetensors", "record.json", "config.yaml", "predictions.csv"):
        assert f"runs/node/{path}" in ended.out
        assert (run / path).exists()
    for command in ("engnn evaluate runs/node", "engnn predict runs/node DATA", "engnn report runs/node"):
        assert command in ended.out
    second = engnn("train", own_data("node"), *TINY, cwd=tmp_path)
    assert "runs/node-2/" in second.out
    last = engnn("train", own_data("node"), *TINY, "--resume", cwd=tmp_path)  # goes on with the last, which is done
    assert last.out == second.out
    assert sorted(os.listdir(tmp_path / "runs")) == ["node", "node-2"]


def test_several_commands_add_their_records_to_one_file(engnn: Any, own_data: Data, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    running = [
        engnn.start(
            "train", own_data("graph"), *TINY, "--seed", seed, "--out", tmp_path / str(seed), "--records", records
        )
        for seed in range(3)
    ]
    assert [one.end().code for one in running] == [0, 0, 0]
    assert sorted(json.loads(line)["seed"] for line in records.read_text().splitlines()) == [0, 1, 2]


RECIPES = {
    "an unknown key": ("model:\n  layer: 3\n", "'model.layer' is not a setting; did you mean 'model.layers'?"),
    "an unknown section": ("modell:\n  layers: 3\n", "'modell'"),
    "a tag": ("seed: !!python/object/apply:os.system ['touch owned']\n", "not plain YAML"),
    "aliases in depth": (
        "a: &a [1,1]\n"
        + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefghijklmnopq", "bcdefghijklmnopqr", strict=True)),
        "is not a setting",
    ),
    "nesting in depth": ("[" * 5000, "not plain YAML"),
    "no mapping": ("- 1\n", "must hold names and values"),
    "a number that is text": ("train:\n  epochs: many\n", "train.epochs is 'many': it must be a whole number"),
    "a number out of range": ("model:\n  dropout: 2\n", "model.dropout is 2.0: it must be from 0 to 0.95"),
    "a fraction for a count": ("model:\n  layers: 2.5\n", "model.layers is 2.5: it must be a whole number"),
    "a choice that is none": ("model:\n  variant: engn\n", "engnn or mpnn or nmpnn"),
    "nan": ("train:\n  learning_rate: .nan\n", "train.learning_rate is nan: it must be from"),
    "latin-1": (b"data: caf\xe9\n", "cannot be read as a recipe"),
    "a page of zeros": (b"\0" * 5000, "not plain YAML"),
}


@pytest.mark.parametrize("what", RECIPES)
def test_a_recipe_that_is_wrong_is_refused(what: str, engnn: Any, tmp_path: Path) -> None:
    content, word = RECIPES[what]
    (tmp_path / "recipe.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(engnn("train", "karate", "--config", tmp_path / "recipe.yaml", cwd=tmp_path), "recipe.yaml", word)
    assert os.listdir(tmp_path) == ["recipe.yaml"]


CALLS = {
    "no data": ([], "give a dataset's name, or a path"),
    "data that are not there": (["corra"], "did you mean 'cora'?"),
    "a path that is not there": (["./nothing"], "is not there"),
    "an unknown option": (["karate", "--model.layer", "3"], "did you mean '--model.layers'?"),
    "an unknown option with =": (["karate", "--train.lr=3"], "--train.lr is not an option"),
    "too many layers": (["karate", "--model.layers", "0"], "model.layers is 0: it must be from 1 to 65536"),
    "an unknown noise": (["karate", "--model.noise", "normall"], "did you mean 'normal'?"),
    "an unknown model": (["karate", "--model", "engn"], "did you mean 'engnn'?"),
    "an unknown task": (["karate", "--task", "edge"], "it must be node or link or subgraph or graph"),
    "an unknown metric": (["karate", "--metric", "acuracy"], "did you mean 'accuracy'?"),
    "a metric of another kind": (["karate", "--metric", "mae"], "not for answers of kind 'class'"),
    "an unknown split": (["karate", "--split", "geom"], "split 'geom'"),
    "a GPU that is not there": (["karate", "--train.device", "cuda"], "there is no CUDA device here"),
    "a seed below 0": (["karate", "--seed=-1"], "seed is -1"),
    "a graph to tell apart": (["brec"], "nothing to learn from"),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_that_is_wrong_is_refused_and_nothing_is_written(
    what: str, engnn: Any, tmp_path: Path, open_or_skip: Callable[..., Dataset]
) -> None:
    call, word = CALLS[what]
    if call == ["brec"]:
        open_or_skip("brec")
    refused(engnn("train", *call, cwd=tmp_path, env={"CUDA_VISIBLE_DEVICES": ""}), word)
    assert os.listdir(tmp_path) == []


def test_data_from_which_nothing_can_be_chosen_or_learnt_are_refused(engnn: Any, tmp_path: Path) -> None:
    one = tmp_path / "one-class"
    one.mkdir()
    (one / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(9)))
    label = ["yes" if i in (0, 9) else "no" for i in range(10)]
    part = ["train"] * 4 + ["valid"] * 3 + ["test"] * 2 + ["train"]
    (one / "nodes.csv").write_text("id,label,split\n" + "".join(f"{i},{label[i]},{part[i]}\n" for i in range(10)))
    refused(
        engnn("train", one, "--metric", "roc_auc", cwd=tmp_path),
        "roc_auc is undefined on the valid part",
        "another metric",
    )
    full = tmp_path / "complete"
    full.mkdir()
    (full / "edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i in range(8) for j in range(i)))
    refused(engnn("train", full, "--task", "link", cwd=tmp_path), "complete")
    assert sorted(os.listdir(tmp_path)) == ["complete", "one-class"]


def test_a_part_of_one_class_has_no_auc_and_never_a_score(engnn: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(11)))
    label = ["yes" if i % 2 and i < 8 else "no" for i in range(12)]
    part = ["train"] * 4 + ["valid"] * 4 + ["test"] * 4
    (data / "nodes.csv").write_text("id,label,split\n" + "".join(f"{i},{label[i]},{part[i]}\n" for i in range(12)))
    ended = engnn("train", data, "--metric", "roc_auc", "--out", tmp_path / "run", *TINY)
    assert ended.code == 0, ended.err
    assert "test undefined" in ended.out
    assert json.loads((tmp_path / "run" / "record.json").read_text())["scores"]["test"] is None
    said = json.loads(engnn("evaluate", tmp_path / "run", "--json").out)
    assert said["score"] is said["standard_error"] is said["sampling_error"] is None


def test_a_single_node_alone_in_its_graph_is_trained_on_and_answered(engnn: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "edges.csv").write_text("source,target\na,b\n")
    nodes = ["a,0", "b,0", *(f"n{graph},{graph}" for graph in range(1, 9))]  # the last graphs have no edge
    (data / "nodes.csv").write_text("id,graph\n" + "".join(f"{node}\n" for node in nodes))
    (data / "graphs.csv").write_text("graph,label\n" + "".join(f"{g},{'ab'[g % 2]}\n" for g in range(9)))
    ended = engnn("train", data, "--out", tmp_path / "run", *TINY, "--train.batch_size=1")
    assert ended.code == 0, ended.err
    assert len(table(tmp_path / "run" / "predictions.csv")) == 2


def test_a_folder_that_holds_something_else_is_left_alone(engnn: Any, own_data: Data, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not lose")
    refused(engnn("train", own_data("graph"), *TINY, "--out", tmp_path / "mine"), "holds something else")
    refused(engnn("train", own_data("graph"), *TINY, "--out", tmp_path / "mine" / "thesis.txt"), "holds something else")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "do not lose"


def test_two_cannot_work_on_one_run(engnn: Any, own_data: Data, tmp_path: Path) -> None:
    command = ["train", own_data("graph"), *TINY, "--train.epochs=100000", "--out", tmp_path / "run"]
    first = engnn.start(*command)
    first.wait_for("epoch 1/")
    refused(engnn(*command, "--resume"), "another process is working on this run")
    began = time.monotonic()
    first.kill(signal.SIGTERM)
    ended = first.end()
    assert ended.code == 3
    assert time.monotonic() - began < 20
    assert "--resume goes on" in ended.err
    assert (tmp_path / "run" / "checkpoint" / "latest").exists()


def test_a_place_where_nothing_may_be_written_is_named(engnn: Any, own_data: Data, tmp_path: Path) -> None:
    if os.getuid() == 0:  # to whom rights mean nothing, so the command runs as somebody else
        shut, user = tmp_path / "shut", 65534
        shut.mkdir(mode=0o755)
    else:
        shut, user = tmp_path / "shut", 0
        shut.mkdir(mode=0o555)
    ended = engnn("train", "karate", *TINY, "--out", shut / "run", user=user)
    refused(ended, str(shut / "run"), "Permission denied", "bytes are needed", "are free")
    assert os.listdir(shut) == []


def test_on_a_full_disk_the_last_checkpoint_stays_and_the_run_goes_on_when_there_is_room(
    engnn: Any, own_data: Data, tmp_path: Path
) -> None:
    command = ["train", own_data("graph"), *TINY, "--train.epochs=8", "--train.checkpoint_steps=1", "--resume", "--out"]
    whole = engnn(*command, tmp_path / "whole", at_call=0)
    run = tmp_path / "run"
    stopped = engnn(*command, run, at_call=whole.calls // 2, signal=signal.SIGTERM)
    assert stopped.code == 3, stopped.err
    before = {path: path.read_bytes() for path in (run / "checkpoint").rglob("*") if path.is_file()}
    full = engnn(*command, run, largest_file=20_000)
    refused(full, "checkpoint cannot be written", "bytes are needed", "are free", "intact", "--resume")
    assert {path: path.read_bytes() for path in (run / "checkpoint").rglob("*") if path.is_file()} == before
    ended = engnn(*command, run)
    assert ended.code == 0, ended.err
    for name in ("model.safetensors", "predictions.csv"):
        assert (run / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_the_last_finite_checkpoint(
    engnn: Any, own_data: Data, tmp_path: Path
) -> None:
    wild = ("--train.learning_rate=1000", "--train.clip=0", "--train.warmup=0", "--train.epochs=500")
    ended = engnn(
        "train",
        own_data("values"),
        *TINY,
        *wild,
        "--train.checkpoint_steps=1",
        "--model.layers=6",
        "--out",
        tmp_path / "run",
    )
    refused(ended, "finite", "step ", "--train.learning_rate (it is 1000)")
    place = re.search(r"step (\d+) \(epoch \d+, batch \d+ of \d+, graph\(s\) [\d, …]+\)", ended.err)
    assert place is not None
    assert "layer" in ended.err or "gradient of" in ended.err
    pointer = json.loads((tmp_path / "run" / "checkpoint" / "latest").read_text())
    folder = tmp_path / "run" / "checkpoint" / pointer["name"]
    assert json.loads((folder / "state.json").read_text())["step"] == int(place[1]) - 1
    with safe_open(folder / "tensors.safetensors", "pt") as file:
        assert all(file.get_tensor(name).isfinite().all() for name in file.keys())  # noqa: SIM118
    assert not (tmp_path / "run" / "record.json").exists()


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, ("touch owned",))


def test_no_pickle_in_a_run_is_ever_read(engnn: Any, runs: Runs, own_data: Data, tmp_path: Path) -> None:
    for name in ("model.safetensors", "model.json"):
        run = tmp_path / name.partition(".")[2]
        shutil.copytree(runs("graph"), run)
        (run / name).write_bytes(pickle.dumps(Bomb()))
        refused(engnn("predict", run, own_data("graph"), cwd=tmp_path), str(run))
    shutil.copytree(runs("graph"), tmp_path / "resumed")
    (tmp_path / "resumed" / "record.json").unlink()
    pointer = json.loads((tmp_path / "resumed" / "checkpoint" / "latest").read_text())
    (tmp_path / "resumed" / "checkpoint" / pointer["name"] / "tensors.safetensors").write_bytes(pickle.dumps(Bomb()))
    command = [
        "train",
        own_data("graph"),
        *TINY,
        "--train.checkpoint_steps=1",
        "--out",
        tmp_path / "resumed",
        "--resume",
    ]
    refused(engnn(*command, cwd=tmp_path), "damaged", "start it anew")
    assert not list(tmp_path.rglob("owned"))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda run: shutil.rmtree(run), "is not a run's folder"),
    "no model": (lambda run: (run / "model.json").unlink(), "holds no trained model"),
    "no weights": (lambda run: (run / "model.safetensors").unlink(), "holds no readable model"),
    "half the weights": (lambda run: os.truncate(run / "model.safetensors", 1000), "checksum is wrong"),
    "no JSON": (lambda run: (run / "model.json").write_text("{"), "holds no readable model"),
    "a list": (lambda run: (run / "model.json").write_text("[1]"), "holds no readable model"),
    "another format": (lambda run: change(run, format=99), "is of format 99"),
    "an unknown model": (lambda run: change(run, model="os.system"), "model 'os.system' is not known"),
    "other arguments": (lambda run: change(run, arguments={"layers": 3}), "cannot be made as described"),
    "another width": (lambda run: change(run, "hidden_channels", 16), "does not fit"),
}


def change(run: Path, argument: str = "", value: object = None, **about: object) -> None:
    said = json.loads((run / "model.json").read_text()) | about
    if argument:
        said["arguments"][argument] = value
    (run / "model.json").write_text(json.dumps(said))


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_model_is_told(what: str, engnn: Any, runs: Runs, own_data: Data, tmp_path: Path) -> None:
    damage, word = DAMAGE[what]
    shutil.copytree(runs("graph"), tmp_path / "run")
    damage(tmp_path / "run")
    refused(engnn("predict", tmp_path / "run", own_data("graph"), "--out", tmp_path / "out.csv"), word)
    assert not (tmp_path / "out.csv").exists()


def test_data_that_do_not_fit_the_model_are_refused(engnn: Any, runs: Runs, own_data: Data, tmp_path: Path) -> None:
    refused(engnn("predict", runs("graph"), "cora", cwd=tmp_path), "cora has no graph task")
    refused(engnn("predict", runs("node"), own_data("graph"), cwd=tmp_path), "no column 'size'")
    refused(engnn("predict", runs("graph"), tmp_path / "none", cwd=tmp_path), "is not there")
    refused(
        engnn("predict", runs("graph"), own_data("graph"), "--out", tmp_path / "no" / "out.csv"), "cannot be written"
    )
    assert os.listdir(tmp_path) == []

"""Every recipe is a configuration, finds its data by its name, and builds a model that answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import pytest
import torch

from engnn.data.catalog import sources
from engnn.data.dataset import Dataset
from engnn.tasks import task_of
from engnn.train.loop import Training
from engnn.train.models import names
from engnn.train.options import default_recipe, make_config, parse_recipe

FOLDER = resources.files("engnn") / "recipes"
RECIPES = sorted(one.name.removesuffix(".yaml") for one in FOLDER.iterdir() if one.name.endswith(".yaml"))
TASKS = {"node": "karate", "link": "small-world", "subgraph": "density-generated", "graph": "csl"}


def test_each_task_has_a_recipe_and_so_has_each_example() -> None:
    assert {*TASKS, "counting", "density", "karate", "small-world"} <= set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_named_for_a_task_or_for_data(name: str) -> None:
    known = {*TASKS, *sources(), *(f"{source}-{task}" for source in sources() for task in TASKS)}
    assert name in known


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_builds_a_model_that_takes_a_step(name: str, open_or_skip: Callable[..., Dataset]) -> None:
    settings = parse_recipe((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name)
    data = TASKS.get(name) or {"counting": "counting-generated", "density": "density-generated"}.get(name, name)
    task = task_of(open_or_skip(data))
    config = make_config(settings, {"data": data, "train.batch_size": 4, "train.device": "cpu"})
    training = Training(task, config)
    loss, _ = training.step()
    assert torch.tensor(loss).isfinite()


def test_the_recipe_of_a_dataset_comes_before_that_of_its_task_and_an_option_changes_nothing() -> None:
    for data, task, found in (
        ("counting", "node", "counting.yaml"),
        ("counting:6-cycle", "node", "counting.yaml"),
        ("cora", "node", "node.yaml"),
        ("./my/data", "graph", "graph.yaml"),
        ("small-world", "link", "small-world.yaml"),
    ):
        assert default_recipe(data, task, names()[0])[0] == found

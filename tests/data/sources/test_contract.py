"""What every named dataset promises, whichever family it is of: found by name, and not by a list in this test."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

import engnn.data.sources
from engnn.data.catalog import describe, outline, sources
from engnn.data.check import check
from engnn.data.dataset import PARTS, Dataset, Provenance, Task
from engnn.data.splits import OFFICIAL
from engnn.errors import InputError

Open = Callable[..., Dataset]
ASKED = [(name, task) for name, source in sorted(sources().items()) for task in source.tasks]
CHOSEN = [(name, split) for name, source in sorted(sources().items()) for split in source.splits[1:]]
PROMISED = ("name", "task", "graphs", "nodes", "edges", "features", "classes", "metric", "splits", "provenance")


@pytest.mark.parametrize("name", sources())
def test_a_source_says_all_that_is_known_without_opening_it(name: str) -> None:
    source = sources()[name]
    assert source.name == name
    assert re.fullmatch(r"[a-z0-9_-]+", name)  # a word on the command line, without a colon
    assert source.tasks
    assert set(source.tasks) <= set(get_args(Task))
    assert source.metric.keys() == set(source.tasks)
    assert source.provenance in get_args(Provenance)
    assert source.splits
    assert len(set(source.splits)) == len(source.splits)
    assert source.summary
    assert source.source
    assert source.licence
    for file in source.files:
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts
        assert re.fullmatch(r"([0-9a-f]{64})?", file.sha256)
        assert not file.url or file.url.startswith("https://")


@pytest.mark.parametrize("family", [one.name for one in pkgutil.iter_modules(engnn.data.sources.__path__)])
def test_each_family_has_a_test_of_its_own(family: str) -> None:
    assert (Path(__file__).parent / f"test_{family}.py").is_file()


@pytest.mark.parametrize(("name", "task"), ASKED)
def test_a_dataset_is_sound_and_as_its_source_says(name: str, task: Task, open_or_skip: Open) -> None:
    source, dataset = sources()[name], open_or_skip(name, task=task)
    assert dataset.name == name
    assert dataset.task == task
    assert dataset.metric == source.metric[task]
    assert dataset.provenance == (source.provenance if outline(source)["present"] else "generated")
    assert dataset.split_name in (*source.splits, OFFICIAL)
    assert dataset.source
    assert dataset.licence
    assert all(note.isprintable() for note in dataset.notes)
    check(dataset, name)
    assert (dataset.y is None) == (dataset.links is not None or not dataset.split)
    assert (dataset.members is None) == (task != "subgraph")
    if dataset.y is not None:
        assert len(dataset.classes or dataset.outputs) > (0 if dataset.outputs else 1)
        assert dataset.y.dtype == (torch.int64 if dataset.classes else torch.float32)
    if dataset.split:
        assert tuple(dataset.split) == PARTS


@pytest.mark.parametrize(("name", "task"), ASKED)
def test_the_same_call_gives_the_same_dataset_and_another_seed_moves_random_splits_only(
    name: str, task: Task, open_or_skip: Open
) -> None:
    def parts(**asked: Any) -> dict[str, torch.Tensor]:
        dataset = open_or_skip(name, task=task, **asked)
        if dataset.links is not None:
            return {part: getattr(dataset.links, part) for part in (*PARTS, "test_negatives")}
        return dict(dataset.split)

    zero, again, one = parts(), parts(seed=0), parts(seed=1)
    for part, ids in zero.items():
        assert torch.equal(ids, again[part])
    if zero:
        drawn = sources()[name].splits[0] == "random"
        assert all(torch.equal(ids, one[part]) != drawn for part, ids in zero.items())


@pytest.mark.parametrize(("name", "split"), CHOSEN)
def test_every_split_opens_by_its_name_and_is_sound(name: str, split: str, open_or_skip: Open) -> None:
    dataset = open_or_skip(name, split=split)
    assert dataset.split_name == split
    check(dataset, name)


@pytest.mark.parametrize(("name", "task"), ASKED)
def test_what_is_told_of_a_dataset_has_all_that_is_promised(name: str, task: Task) -> None:
    facts = describe(name, task=task)
    assert set(PROMISED) | {"present", "licence", "source", "bytes", "notes"} <= facts.keys()
    assert (facts["name"], facts["task"]) == (name, task)
    if facts["present"]:
        assert all(facts[key] is not None for key in PROMISED)


@pytest.mark.parametrize("name", [name for name, source in sources().items() if source.options])
def test_an_option_opens_and_an_unknown_one_is_told(name: str, open_or_skip: Open) -> None:
    option = sources()[name].options[-1]
    assert open_or_skip(f"{name}:{option}").name == f"{name}:{option}"
    with pytest.raises(InputError, match="option 'x' is not known"):
        open_or_skip(f"{name}:x")

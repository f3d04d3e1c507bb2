"""Every dataset by its name, and the user's own by their path: opened, audited, described."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import get_args

import torch

import engnn.data.sources
from engnn.data import files
from engnn.data.cache import cached
from engnn.data.dataset import PARTS, Dataset, Task
from engnn.data.draws import check_seed
from engnn.data.source import File, Request, Source
from engnn.data.splits import OFFICIAL, audit_split, split_digest, split_parts, undirected
from engnn.errors import InputError, nearest

Get = Callable[[File], Path]


@cache
def sources() -> dict[str, Source]:
    """Every named dataset, as the modules of `engnn.data.sources` list them."""
    found: dict[str, Source] = {}
    for module in pkgutil.iter_modules(engnn.data.sources.__path__, "engnn.data.sources."):
        for source in importlib.import_module(module.name).SOURCES:
            if source.name in found:
                raise ValueError(f"two datasets are named {source.name!r}; one is in {module.name}")
            found[source.name] = source
    return found


def open_dataset(data: str | Path, *, task: Task | None = None, split: str = "", seed: int = 0) -> Dataset:
    """The dataset of that name (`cora`, `counting:6-cycle`), or the user's own files at that path; its split audited.

    Files that are absent are downloaded where they are published. `task` and `split` are by default the first that
    the dataset has; `seed` draws the split where it is not a published one.
    """
    return _open(data, task, split, seed, files.fetch)


def fetch(name: str) -> tuple[Path, ...]:
    """The raw files of a named dataset, those that are absent downloaded where they are published."""
    if is_path(name):
        raise InputError(f"{name} is a path, and only named datasets are fetched; check your own by 'data check'")
    source, _ = _named(name)
    return tuple(files.fetch(file) for file in source.files)


def outline(source: Source) -> dict[str, object]:
    """What is known of a named dataset without opening it, as plain values; `present` where all its files are here."""
    found = [files.find(file) for file in source.files]
    return {
        "name": source.name,
        "tasks": list(source.tasks),
        "known_splits": list(source.splits),
        "options": list(source.options),
        "provenance": source.provenance,
        "licence": source.licence,
        "source": source.source,
        "summary": source.summary,
        "present": None not in found,
        "missing": [file.path for file, path in zip(source.files, found, strict=True) if path is None],
        "bytes": sum(path.stat().st_size for path in found if path),
    }


def describe(data: str | Path, *, task: Task | None = None, split: str = "", seed: int = 0) -> dict[str, object]:
    """What there is to know about a dataset, as plain values; without its files, what is known without them.

    `nodes` and `edges` are of one graph, or means over many; edges are undirected and without self-loops. `present`
    says whether it opened. Downloads nothing.
    """
    if is_path(data):
        return _facts(_open(data, task, split, seed, files.locate)) | {"present": True}
    source, _ = _named(str(data))
    known = outline(source)
    try:
        dataset = _open(data, task, split, seed, files.locate)
    except files.MissingFile:
        task = task or source.tasks[0]
        unknown = dict.fromkeys(("graphs", "nodes", "edges", "features", "edge_features", "classes"))
        asked = {"task": task, "metric": source.metric[task], "split": split or source.splits[0], "splits": {}}
        return known | unknown | asked | {"name": data, "notes": [], "present": False}
    facts = {key: value for key, value in _facts(dataset).items() if value != ""}
    return known | facts | {"name": data, "present": True}


def _open(data: str | Path, task: Task | None, split: str, seed: int, get: Get) -> Dataset:
    check_seed(seed)
    if task is not None and task not in get_args(Task):
        raise InputError(f"task {task!r} is not known; {nearest(task, get_args(Task))}")
    if not is_path(data):
        dataset = _load(*_named(str(data)), task, split, seed, get)
    elif split:
        raise InputError(f"split {split!r} is for named datasets: {data} says its own split, in a column named 'split'")
    else:
        from engnn.data import own

        dataset = own.read(Path(data), task=task, seed=seed)
    if dataset.links is None or dataset.split_name != OFFICIAL:
        audit_split(dataset)
    return dataset


def is_path(data: str | Path) -> bool:
    """Names win over paths: a folder named `cora` is `./cora`."""
    if isinstance(data, Path) or data.partition(":")[0] in sources():
        return isinstance(data, Path)
    return os.sep in data or os.path.exists(data)


def _named(data: str) -> tuple[Source, str]:
    """The source and the option that `data` names."""
    name, _, option = data.partition(":")
    if name not in sources():
        raise InputError(f"{data!r} is neither a dataset nor a file or folder here; {nearest(name, sources())}")
    source = sources()[name]
    if option not in ("", *source.options):
        hint = nearest(option, source.options) if source.options else f"{name} has no options"
        raise InputError(f"{data!r}: option {option!r} is not known; {hint}")
    return source, option


def _load(source: Source, option: str, task: Task | None, split: str, seed: int, get: Get) -> Dataset:
    if task is not None and task not in source.tasks:
        raise InputError(f"{source.name} has no {task} task; {nearest(task, source.tasks)}")
    if split and split not in source.splits:
        raise InputError(f"{source.name} has no split {split!r}; {nearest(split, source.splits)}")
    declared = {file.path: file for file in source.files}
    request = Request(
        task=task or source.tasks[0],
        file=lambda path: get(declared[path]),
        cached=partial(cached, source),
        seed=seed,
        split=split or source.splits[0],
        option=option,
    )
    dataset = source.load(request)
    return replace(dataset, source=dataset.source or source.source, licence=dataset.licence or source.licence)


def _facts(dataset: Dataset) -> dict[str, object]:
    graphs = dataset.graphs
    num_nodes = int(graphs.node_ptr[-1])
    shift = torch.repeat_interleave(graphs.node_ptr[:-1], graphs.num_edges)
    pairs = graphs.edge_index + shift
    if dataset.links is not None:
        links = dataset.links
        pairs = torch.cat([pairs, links.train, links.valid, links.test], dim=1)
    num_edges = undirected(num_nodes, pairs).size(1)
    many = len(graphs) > 1
    return {
        "name": dataset.name,
        "task": dataset.task,
        "graphs": len(graphs),
        "nodes": num_nodes / len(graphs) if many else num_nodes,
        "edges": num_edges / len(graphs) if many else num_edges,
        "features": graphs.in_channels,
        "edge_features": graphs.edge_dim,
        "classes": len(dataset.classes) or len(dataset.outputs),
        "metric": dataset.metric,
        "split": dataset.split_name,
        "splits": {part: ids.size(-1) for part, ids in split_parts(dataset).items() if part in PARTS},
        "split_sha256": split_digest(dataset),
        "provenance": dataset.provenance,
        "licence": dataset.licence,
        "source": dataset.source,
        "notes": list(dataset.notes),
    }

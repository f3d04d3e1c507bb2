"""Building a model: from a configuration and a dataset, and from what a trained one's file says."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module, util
from typing import Any

from torch import Tensor, nn

from engnn.data.dataset import Graphs
from engnn.errors import InputError, nearest
from engnn.tasks.batch import Batch
from engnn.tasks.task import Task
from engnn.train.config import ModelConfig

ENGNN = "engnn"
PREFIX, BOOSTED = "boosted_", ("gat", "gcn", "gin", "graphsage")  # baselines that are there with noise beside, too


def names() -> list[str]:
    """All models that can be named: engnn, the files of `engnn.baselines`, and some of those boosted."""
    if util.find_spec("engnn.baselines") is None:
        return [ENGNN]
    found = pkgutil.iter_modules(import_module("engnn.baselines").__path__)
    bare = [module.name for module in found if not module.name.startswith("_")]
    return [ENGNN, *bare, *(f"{PREFIX}{name}" for name in BOOSTED)]


def constructor(name: str) -> Callable[..., nn.Module]:
    """What makes the model of that name: `ENGNN`, or a baseline module's `MODEL`, which may be boosted."""
    if name not in names():
        raise InputError(f"model {name!r} is not known; {nearest(name, names())}")
    if name == ENGNN:
        from engnn.nn.model import ENGNN as Model

        return Model
    baseline: type[Any] = import_module(f"engnn.baselines.{name.removeprefix(PREFIX)}").MODEL
    if not name.startswith(PREFIX):
        return baseline
    from engnn.boosting.baseline import BoostedBaseline

    return partial(BoostedBaseline, baseline)


def accepted(name: str) -> set[str]:
    """The arguments that the model of that name can be made with."""
    make = constructor(name)
    made = [make] if not isinstance(make, partial) else [make.func, *make.args]
    return {argument for one in made for argument in inspect.signature(one).parameters}


def arguments(config: ModelConfig, task: Task) -> dict[str, Any]:
    """What the model is made with: settings, and what the data say of widths and typical sizes. Plain JSON values.

    A baseline is given those of them that its constructor names.
    """
    graphs = task.dataset.graphs
    given = {
        "in_channels": graphs.in_channels,
        "hidden_channels": config.hidden,
        "out_channels": len(task.answer.names),
        "num_layers": config.layers,
        "noise_channels": config.noise_channels,
        "noise_dim": config.noise_dim,
        "noise": config.noise,
        "symmetry": config.symmetry,
        "variant": config.variant,
        "edge_dim": edge_dim(graphs) or None,
        "level": task.level,
        "output": task.answer.kind,
        "noise_messages": config.noise_messages,
        "degree": max(1.0, float(graphs.num_edges.sum() / graphs.num_nodes.sum())),
        "typical": max(1.0, float(graphs.num_nodes.double().mean())),
        "feature_scale": 1 / graphs.x_size,
        "dropout": config.dropout,
    }
    named = accepted(config.name)
    return {name: value for name, value in given.items() if name in named}


def edge_dim(graphs: Graphs) -> int:
    """Width of the edge features as a model is given them: a weight is one more."""
    return graphs.edge_dim + (graphs.edge_weight is not None)


def build(name: str, said: Mapping[str, Any]) -> nn.Module:
    """The model of that name, made with these arguments."""
    try:
        return constructor(name)(**said)
    except TypeError as error:
        raise InputError(f"model {name!r} cannot be made as described ({error}): train it again") from error


def answer(model: nn.Module, batch: Batch, *, seed: int, draw: int) -> Tensor:
    """What the model says of a batch, under one draw of the noise (of a seed), if it takes any."""
    given = batch.inputs
    noise, sample = None, getattr(model, "sample_noise", None)
    if sample is not None:
        noise = sample(given.num_nodes, seed=seed, draw=draw, batch=given.batch, graph_id=given.graph_id)
    out: Tensor = model(
        given.x,
        given.edge_index,
        edge_attr=given.edge_attr,
        batch=given.batch,
        targets=batch.targets,
        noise=noise,
        num_nodes=given.num_nodes,
        size=given.size,
    )
    return out

"""Small datasets of every task, made in memory, whose features say which node is which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from engnn.data.dataset import Dataset, Graphs, Members, offsets
from engnn.data.splits import link_split
from engnn.data.undirected import undirected

PARTS = ("train", "valid", "test")


def graphs(count: int, *, seed: int = 0, edges: bool = True) -> Graphs:
    """Random graphs of 2 to 6 nodes; the last has no edge; node features are the nodes' numbers, end to end."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 7, count)
    pairs = [np.argwhere(np.triu(draw.random((n, n)) < 0.6, 1)) for n in sizes]
    pairs[-1] = pairs[-1][:0]
    return undirected(
        sizes,
        np.array([len(some) for some in pairs]),
        np.concatenate(pairs).T,
        x=np.arange(sizes.sum(), dtype=np.float32)[:, None],
    )


def split(count: int) -> dict[str, torch.Tensor]:
    """Half of the targets to learn from, in no order."""
    order = torch.from_numpy(np.random.default_rng(1).permutation(count))
    return dict(zip(PARTS, torch.split(order, [count - 2 * (count // 4), count // 4, count // 4]), strict=True))


def links(nodes: int = 30, edges: int = 60, *, seed: int = 0) -> Dataset:
    """A random graph whose edges weigh what their ends' numbers add up to."""
    every = np.stack(np.triu_indices(nodes, 1))
    chosen = np.sort(np.random.default_rng(seed).permutation(every.shape[1])[:edges])
    dealt = link_split(nodes, torch.from_numpy(every[:, chosen]), seed=seed)
    graph = undirected(
        np.array([nodes]),
        np.array([dealt.train.size(1)]),
        dealt.train.numpy(),
        x=np.arange(nodes, dtype=np.float32)[:, None],
    )
    return Dataset(
        name="links",
        task="link",
        metric="roc_auc",
        provenance="generated",
        graphs=replace(graph, edge_weight=graph.edge_index.sum(0).double()),
        links=dealt,
    )


def make(task: str) -> Dataset:
    """A dataset of the task; `nodes` is node-level regression on many graphs, `labels` graphs with three answers."""
    common = {"name": task, "provenance": "generated"}
    if task == "link":
        return links()
    if task == "subgraph":
        sizes = torch.tensor([1, 3, 2, 4] * 5)
        members = Members(offsets(sizes), torch.arange(int(sizes.sum())) % 30)
        y = torch.arange(20) % 3
        graph = links().graphs
        named = ("a", "b", "c")
        return Dataset(
            **common,
            task="subgraph",
            metric="micro_f1",
            graphs=graph,
            members=members,
            y=y,
            split=split(20),
            classes=named,
        )  # type: ignore[arg-type]
    many = graphs(17)
    nodes = int(many.node_ptr[-1])
    if task == "node":
        return Dataset(
            **common,
            task="node",
            metric="accuracy",
            graphs=links().graphs,
            y=torch.arange(30) % 2,
            split=split(30),
            classes=("even", "odd"),
        )  # type: ignore[arg-type]
    if task == "nodes":
        y = torch.stack([torch.arange(nodes), -torch.arange(nodes)], 1).float()
        return Dataset(
            **common, task="node", metric="mae", graphs=many, y=y, split=split(nodes), outputs=("up", "down")
        )  # type: ignore[arg-type]
    y = torch.from_numpy(np.random.default_rng(2).integers(0, 2, (17, 3))).float()
    y[3:9, 1] = torch.nan
    return Dataset(
        **common,
        task="graph",
        metric="roc_auc",
        graphs=many,
        y=y,
        split=split(17),
        outputs=("a", "b", "c"),
        multilabel=True,
    )  # type: ignore[arg-type]


@pytest.fixture(params=["node", "nodes", "link", "subgraph", "graph"])
def dataset(request: pytest.FixtureRequest) -> Dataset:
    """A dataset of each task in turn."""
    return make(request.param)


@pytest.fixture(name="make")
def _make() -> Callable[[str], Dataset]:
    """`make(task)`: the dataset of that task."""
    return make


@pytest.fixture(name="links")
def _links() -> Callable[..., Dataset]:
    """`links(nodes, edges)`: a dataset of links in a random graph."""
    return links

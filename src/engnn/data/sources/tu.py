"""Graph data sets of the TU Dortmund collection, read where they lie in their archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch

from engnn.data.dataset import Dataset, Graphs
from engnn.data.draws import Array
from engnn.data.source import File, Request, Source
from engnn.data.splits import random_split

MUTAG = File("graph/tudataset/MUTAG.zip", "3927d193d2288e9eb3f59fa25ab0a5a718f3b536483396714a8b28c883843d6a")
SPLIT = (0.8, 0.1, 0.1)


def _tables(archive: Path, name: str) -> dict[str, Array]:
    """The archive's tables of whole numbers, by what they hold; nothing is extracted."""
    tables = {}
    with zipfile.ZipFile(archive) as inside:
        for table in ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels"):
            with inside.open(f"{name}/raw/{name}_{table}.txt") as lines:
                tables[table] = np.loadtxt(lines, dtype=np.int64, delimiter=",", ndmin=2)
    return tables


def _mutag(request: Request) -> Dataset:
    tables = _tables(request.file(MUTAG.path), "MUTAG")
    owner = tables["graph_indicator"][:, 0] - 1  # of each node, in order
    num_nodes = np.bincount(owner)
    edges = tables["A"].T - 1  # both directions are listed; nodes are counted over all graphs
    order = np.argsort(owner[edges[0]], kind="stable")
    edges = edges[:, order]
    of_edge = owner[edges[0]]
    graphs = Graphs(
        torch.from_numpy(num_nodes),
        torch.from_numpy(np.bincount(of_edge, minlength=len(num_nodes))),
        torch.from_numpy(edges - (np.cumsum(num_nodes) - num_nodes)[of_edge]),
        x=torch.from_numpy(tables["node_labels"]),
        x_levels=(int(tables["node_labels"].max()) + 1,),
        edge_attr=torch.from_numpy(tables["edge_labels"][order]),
        edge_levels=(int(tables["edge_labels"].max()) + 1,),
    )
    names, y = np.unique(tables["graph_labels"][:, 0], return_inverse=True)
    labels = torch.from_numpy(y)
    split, notes = random_split(len(graphs), SPLIT, seed=request.seed, labels=labels)
    return Dataset(
        name="mutag",
        task="graph",
        metric="accuracy",
        provenance="original",
        graphs=graphs,
        y=labels,
        split=split,
        classes=tuple(str(name) for name in names),
        notes=notes,
    )


SOURCES = (
    Source(
        name="mutag",
        tasks=("graph",),
        splits=("random",),
        metric={"graph": "accuracy"},
        provenance="original",
        load=_mutag,
        files=(MUTAG,),
        source="TUDataset, as kept by github.com/XuelinHu/Matrix-ResGNN-GraphClassificatio",
        summary="188 nitroaromatic compounds, mutagenic or not",
    ),
)

"""Graphs in the NPZ layout of Platonov et al. 2023, with ten fixed masks each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array, Published, parts_of, read_npz, single_graph
from engnn.data.source import Source

PUBLISHED = f"{GITHUB}/yandex-research/heterophilous-graphs/a431395582e929d88271309716bea4fe24ce6318/data"
MASKS = tuple(f"heterophilous-{i}" for i in range(10))


def _read(path: str, file: Callable[[str], Path]) -> Published:
    x, y, edges = read_npz(file(path), "node_features", "node_labels", "edges")
    return Published(num_nodes=len(y), edges=edges.T, x=torch.from_numpy(x), y=y)


def _read_split(path: str, file: Callable[[str], Path], split: str) -> Array:
    masks = read_npz(file(path), "train_masks", "val_masks", "test_masks")
    return parts_of(*(mask[MASKS.index(split)] for mask in masks))


def _source(name: str, path: str, summary: str, *notes: str, metric: str = "accuracy") -> Source:
    return single_graph(
        name,
        partial(_read, path),
        files=(pinned(path, f"{PUBLISHED}/{path.rsplit('/', 1)[1]}"),),
        tasks=("node",),
        fixed=MASKS,
        read_split=partial(_read_split, path),
        node_metric=metric,
        licence="MIT",
        source="GitHub yandex-research/heterophilous-graphs",
        summary=summary,
        notes=("not in the paper", *notes),
    )


SOURCES = (
    _source(
        "minesweeper",
        "HeterophilousGraphDataset/minesweeper/raw/minesweeper.npz",
        "100 by 100 cells, how many mines lie around each (half of them unknown); which cells are mines",
        metric="roc_auc",
    ),
    _source(
        "chameleon-filtered",
        "HeterophilousFiltered/chameleon_filtered.npz",
        "chameleon without its duplicate nodes: 890 pages; 5 classes of traffic",
    ),
    _source(
        "squirrel-filtered",
        "HeterophilousFiltered/squirrel_filtered.npz",
        "squirrel without its duplicate nodes: 2,223 pages; 5 classes of traffic",
    ),
    _source(
        "cornell-repaired",
        "HeterophilousFiltered/cornell.npz",
        "183 pages of Cornell University, their own words and links; 5 kinds of page",
        "the files of cornell carry the words and kinds of the Texas pages: these are Cornell's own",
    ),
)

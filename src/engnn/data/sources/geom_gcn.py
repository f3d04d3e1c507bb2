"""Graphs in Geom-GCN's layout (Pei et al. 2020): tab-separated edges, nodes, features and labels; ten fixed masks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array, Published, read_masks, single_graph, sparse
from engnn.data.source import Source

GEOM_GCN = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f"
MASKS = tuple(f"geom-gcn-{i}" for i in range(10))
Words = Callable[[Array], Array]  # a node's numbers in the file -> the columns of its words


def word_list(numbers: Array) -> Array:
    """Actor: the columns themselves."""
    return np.unique(numbers)


def zeros_and_ones(numbers: Array) -> Array:
    """The others: one number for each column."""
    return np.flatnonzero(numbers)


def _paths(folder: str) -> tuple[str, str]:
    return f"{folder}/raw/out1_graph_edges.txt", f"{folder}/raw/out1_node_feature_label.txt"


def _mask(folder: str, stem: str, number: int) -> str:
    return f"{folder}/raw/{stem}_split_0.6_0.2_{number}.npz"


def _read(folder: str, width: int, words: Words, file: Callable[[str], Path]) -> Published:
    edges, nodes = _paths(folder)
    with file(nodes).open(encoding="ascii") as lines:
        next(lines)
        rows = [line.split("\t") for line in lines]
    ids = np.array([int(row[0]) for row in rows])
    columns = [words(np.fromstring(row[1], dtype=np.int64, sep=",")) for row in rows]
    y = np.empty(len(ids), dtype=np.int64)
    y[ids] = [int(row[2]) for row in rows]
    x = sparse(
        np.repeat(ids, [len(found) for found in columns]),
        np.concatenate(columns),
        np.ones(sum(len(found) for found in columns)),
        (len(ids), width),
    )
    links = np.loadtxt(file(edges), dtype=np.int64, skiprows=1).T
    return Published(num_nodes=len(ids), edges=links, x=x, y=y)


def _read_split(folder: str, stem: str, file: Callable[[str], Path], split: str) -> Array:
    return read_masks(file(_mask(folder, stem, MASKS.index(split))))


def _source(name: str, folder: str, stem: str, width: int, words: Words, summary: str, *notes: str) -> Source:
    masks = [_mask(folder, stem, number) for number in range(10)]
    return single_graph(
        name,
        partial(_read, folder, width, words),
        files=(
            *(pinned(path, f"{GEOM_GCN}/new_data/{stem}/{path.rsplit('/', 1)[1]}") for path in _paths(folder)),
            *(pinned(path, f"{GEOM_GCN}/splits/{path.rsplit('/', 1)[1]}") for path in masks),
        ),
        tasks=("node",),
        fixed=MASKS,
        read_split=partial(_read_split, folder, stem),
        source="GitHub graphdml-uiuc-jlu/geom-gcn",
        summary=summary,
        notes=(
            "published with directed edges: made undirected, as the paper counts them",
            *notes,
            "features as published (not scaled to unit row sums: that is left to the model)",
            "the masks geom-gcn-0 to -9 are 48/32/20 of the nodes in spite of their files' names",
        ),
    )


DUPLICATES = "many nodes are duplicates of one another, across the parts of a split: {}-filtered is without them"

SOURCES = (
    _source(
        "chameleon",
        "WikipediaNetwork/chameleon/geom_gcn",
        "chameleon",
        2325,
        zeros_and_ones,
        "2,277 pages of Wikipedia on chameleons, their nouns and links; 5 classes of traffic",
        DUPLICATES.format("chameleon"),
    ),
    _source(
        "squirrel",
        "WikipediaNetwork/squirrel/geom_gcn",
        "squirrel",
        2089,
        zeros_and_ones,
        "5,201 pages of Wikipedia on squirrels, their nouns and links; 5 classes of traffic",
        DUPLICATES.format("squirrel"),
    ),
    _source(
        "actor",
        "Actor",
        "film",
        932,
        word_list,
        "7,600 actors, words of their pages, and who shares a page with whom; 5 classes",
    ),
    _source(
        "texas",
        "WebKB/texas",
        "texas",
        1703,
        zeros_and_ones,
        "183 pages of a university in Texas, their words and links; 5 kinds of page",
        "one class has one node only",
    ),
    _source(
        "cornell",
        "WebKB/cornell",
        "cornell",
        1703,
        zeros_and_ones,
        "183 pages of Cornell University, their links, and (by a mistake in the source) the words of the Texas pages",
        "features and labels are those of texas, beside Cornell's own edges: so it is published, and so published "
        "results have it; cornell-repaired has its own",
        "one class has one node only",
    ),
)

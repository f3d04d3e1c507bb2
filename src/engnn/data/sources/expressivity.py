"""Graphs made to be hard to tell apart: for colour refinement (`csl`, `exp`) and for stronger tests (`brec`)."""

from __future__ import annotations

import gzip

import numpy as np
import torch

from engnn.data.dataset import Dataset
from engnn.data.draws import Array
from engnn.data.source import File, Request, Source
from engnn.data.splits import random_split
from engnn.data.undirected import undirected

CSL = File("graph/expressivity/csl.npz", "8b8cd3c623c01126c48e5763482a9cda6020a8f454a6085a6ece5a9c46ded0c2")
EXP = File("graph/expressivity/EXP_GRAPHSAT.txt.gz", "d42c40146e4fdde777c39250470c10d944216f9ad6a16c1a4df421aa6b8ee2dc")
BREC = File("graph/expressivity/brec_pairs.tsv.gz", "93cc862d6d8091517d68b86b873b68ef76d601e337ba9be5e9135b9e212c802c")
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # in CSL's class i a cycle of 41 nodes is joined to itself SKIPS[i] steps on


def graph6(text: str) -> tuple[int, Array]:
    """The node count and the edges `[2, m]`, each once, of a graph written in graph6.

    >>> nodes, edges = graph6("Bw")
    >>> nodes, edges.tolist()
    (3, [[0, 0, 1], [1, 2, 2]])
    """
    codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8) - 63
    nodes, start = int(codes[0]), 1
    if nodes == 63:  # then three characters hold it
        nodes, start = int(codes[1:4] @ np.array([1 << 12, 1 << 6, 1])), 4
    bits = np.unpackbits(codes[start:, None], axis=1)[:, 2:].ravel()
    column, row = np.tril_indices(nodes, -1)  # column by column of the upper triangle
    there = bits[: len(row)].astype(bool)
    return nodes, np.stack([row[there], column[there]])


def _csl(request: Request) -> Dataset:
    with np.load(request.file(CSL.path)) as raw:
        edges, labels = raw["edges"], torch.from_numpy(raw["label"]).long()
        sizes = np.full(len(edges), raw["num_nodes"])
    split, notes = random_split(len(labels), (0.6, 0.2, 0.2), seed=request.seed, labels=labels)
    return Dataset(
        name="csl",
        task="graph",
        metric="accuracy",
        provenance="original",
        graphs=undirected(sizes, np.full(len(edges), edges.shape[2]), np.concatenate(edges, axis=1)),
        y=labels,
        split=split,
        classes=tuple(f"skip {skip}" for skip in SKIPS),
        notes=notes,
    )


def _exp(request: Request) -> Dataset:
    with gzip.open(request.file(EXP.path), "rt", encoding="ascii") as lines:
        rows = iter([[int(word) for word in line.split()] for line in lines])
    sizes, satisfiable, types, edges, counts = [], [], [], [], []
    for _ in range(next(rows)[0]):
        size, label = next(rows)
        nodes = [next(rows) for _ in range(size)]  # each its type, its degree, and its neighbours
        once = [(node, other) for node, row in enumerate(nodes) for other in row[2:] if node < other]
        sizes.append(size)
        satisfiable.append(label)
        types += [row[0] for row in nodes]
        edges += once
        counts.append(len(once))
    labels = torch.tensor(satisfiable)
    split, notes = random_split(len(labels), (0.8, 0.1, 0.1), seed=request.seed, labels=labels)
    return Dataset(
        name="exp",
        task="graph",
        metric="accuracy",
        provenance="original",
        graphs=undirected(
            np.array(sizes),
            np.array(counts),
            np.array(edges).T,
            x=np.array(types, dtype=np.uint8)[:, None],
            x_levels=(max(types) + 1,),
        ),
        y=labels,
        split=split,
        classes=("0", "1"),
        notes=notes,
    )


def _brec(request: Request) -> Dataset:
    with gzip.open(request.file(BREC.path), "rt", encoding="ascii") as lines:
        pairs = [line.split() for line in lines]
    sizes, edges = zip(*(graph6(text) for _, *both in pairs for text in both), strict=True)
    return Dataset(
        name="brec",
        task="graph",
        metric="accuracy",
        provenance="original",
        graphs=undirected(np.array(sizes), np.array([each.shape[1] for each in edges]), np.concatenate(edges, axis=1)),
        split_name="pairs",
        ids=tuple(f"{pair[0]}/{number}/{side}" for number, pair in enumerate(pairs) for side in "ab"),
        notes=(
            "graphs 2i and 2i + 1 are pair i, to be told apart; there are no labels and no split to learn from. "
            "An id is category/pair/side",
        ),
    )


SOURCES = (
    Source(
        name="csl",
        tasks=("graph",),
        splits=("random",),
        metric={"graph": "accuracy"},
        provenance="original",
        load=_csl,
        files=(CSL,),
        licence="MIT (github.com/GraphPKU/PygHO)",
        source="circular skip-link graphs of RelationalPooling",
        summary="150 regular graphs of 41 nodes in ten isomorphism classes",
    ),
    Source(
        name="exp",
        tasks=("graph",),
        splits=("random",),
        metric={"graph": "accuracy"},
        provenance="original",
        load=_exp,
        files=(EXP,),
        licence="GPL-3.0 (github.com/ralphabb/GNN-RNI)",
        source="github.com/ralphabb/GNN-RNI",
        summary="1,200 graphs of formulas, satisfiable or not, in pairs that colour refinement cannot tell apart",
    ),
    Source(
        name="brec",
        tasks=("graph",),
        splits=("pairs",),
        metric={"graph": "accuracy"},
        provenance="original",
        load=_brec,
        files=(BREC,),
        licence="MIT (github.com/GraphPKU/BREC)",
        source="github.com/GraphPKU/BREC",
        summary="400 pairs of graphs to be told apart; no labels, no split",
    ),
)

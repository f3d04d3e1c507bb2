"""Citation graphs in Planetoid's layout (Yang et al. 2016): pickled parts `ind.<name>.*`, read without unpickling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array, Published, coo, parts_of, read_npz, single_graph, sparse
from engnn.data.source import Source
from engnn.data.unpickle import Sparse, load_pickle
from engnn.errors import InputError

PLANETOID = f"{GITHUB}/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
GEOM_GCN = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f/splits"
PIECES = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")
MASKS = tuple(f"geom-gcn-{i}" for i in range(10))
VALID = 500  # nodes of the public split's valid part: those after the training nodes


def _paths(folder: str) -> tuple[dict[str, str], list[str]]:
    name, raw = folder.lower(), f"Planetoid/{folder}/raw"
    return {piece: f"{raw}/ind.{name}.{piece}" for piece in PIECES}, [
        f"{raw}/{name}_split_0.6_0.2_{i}.npz" for i in range(10)
    ]


def _read(folder: str, file: Callable[[str], Path]) -> Published:
    pieces, masks = _paths(folder)

    def piece(name: str, kind: type[Any]) -> Any:
        value = load_pickle(file(pieces[name]))
        if not isinstance(value, kind):
            raise InputError(f"{file(pieces[name])} holds a {type(value).__name__}, not a {kind.__name__}")
        return value

    neighbours, known, test = piece("graph", dict), piece("allx", Sparse), piece("tx", Sparse)
    place = np.loadtxt(file(pieces["test.index"]), dtype=np.int64)  # the node that row i of tx and ty is about
    size = len(neighbours)
    y = np.zeros(size, dtype=np.int64)
    y[: known.shape[0]] = piece("ally", np.ndarray).argmax(axis=1)
    y[place] = piece("ty", np.ndarray).argmax(axis=1)
    public = np.zeros((3, size), dtype=bool)
    train = len(piece("y", np.ndarray))
    public[0, :train] = public[1, train : train + VALID] = public[2, place] = True
    fixed = [parts_of(*public)]
    fixed += [parts_of(*read_npz(file(path), "train_mask", "val_mask", "test_mask")) for path in masks]
    return Published(
        num_nodes=size, edges=_edges(neighbours), x=_features(known, test, place, size), y=y, parts=np.stack(fixed)
    )


def _edges(neighbours: dict[int, list[int]]) -> Array:
    counts = [len(found) for found in neighbours.values()]
    ends = [node for found in neighbours.values() for node in found]
    return np.stack([np.repeat(np.array(list(neighbours)), counts), np.array(ends)])


def _features(known: Sparse, test: Sparse, place: Array, size: int) -> torch.Tensor:
    first, last = coo(known), coo(test)
    rows, columns = last.indices().numpy()
    indices = np.concatenate([first.indices().numpy(), np.stack([place[rows], columns])], axis=1)
    values = np.concatenate([first.values().numpy(), last.values().numpy()])
    return sparse(indices[0], indices[1], values, (size, known.shape[1]))


def _source(folder: str, summary: str, *notes: str) -> Source:
    pieces, masks = _paths(folder)
    return single_graph(
        folder.lower(),
        partial(_read, folder),
        files=(
            *(pinned(path, f"{PLANETOID}/{path.rsplit('/', 1)[1]}") for path in pieces.values()),
            *(pinned(path, f"{GEOM_GCN}/{path.rsplit('/', 1)[1]}") for path in masks),
        ),
        fixed=("public", *MASKS),
        licence="MIT",
        source="GitHub kimiyoung/planetoid; fixed masks from GitHub graphdml-uiuc-jlu/geom-gcn",
        summary=summary,
        notes=(
            *notes,
            "features as published (not scaled to unit row sums: that is left to the model)",
            "the masks geom-gcn-0 to -9 are 48/32/20 of the nodes in spite of their files' names",
        ),
    )


SOURCES = (
    _source("Cora", "2,708 papers on machine learning, their words and citations; 7 topics"),
    _source(
        "CiteSeer",
        "3,327 papers, their words and citations; 6 topics",
        "48 nodes have no edge; 15 of them have no features and no label in the files: a row of zeros and class 0",
        "papers that give CiteSeer 4,676 edges count its 124 self-loops",
    ),
    _source(
        "PubMed",
        "19,717 papers on diabetes, their words (TF-IDF) and citations; 3 kinds",
        "papers that give PubMed 44,327 edges count its 3 self-loops",
    ),
)

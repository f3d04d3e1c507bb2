"""Citation graphs in Planetoid's layout (Yang et al. 2016): pickled parts `ind.<name>.*`, read without unpickling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array, Published, coo, parts_of, read_masks, single_graph, sparse
from engnn.data.source import Source
from engnn.data.unpickle import Sparse, load_pickle
from engnn.errors import InputError

PLANETOID = f"{GITHUB}/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
GEOM_GCN = f"{GITHUB}/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f/splits"
PIECES = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")
MASKS = tuple(f"geom-gcn-{i}" for i in range(10))
VALID = 500  # nodes of the public split's valid part: those after the training nodes


def _piece(folder: str, piece: str) -> str:
    return f"Planetoid/{folder}/raw/ind.{folder.lower()}.{piece}"


def _mask(folder: str, number: int) -> str:
    return f"Planetoid/{folder}/raw/{folder.lower()}_split_0.6_0.2_{number}.npz"


def _load(folder: str, piece: str, kind: type[Any], file: Callable[[str], Path]) -> Any:
    value = load_pickle(file(_piece(folder, piece)))
    if not isinstance(value, kind):
        raise InputError(f"{_piece(folder, piece)} holds a {type(value).__name__}, not a {kind.__name__}")
    return value


def _test_nodes(folder: str, file: Callable[[str], Path]) -> Array:
    """The node that each row of tx and ty is about."""
    return np.loadtxt(file(_piece(folder, "test.index")), dtype=np.int64)


def _read(folder: str, file: Callable[[str], Path]) -> Published:
    neighbours = _load(folder, "graph", dict, file)
    known, test = (_load(folder, piece, Sparse, file) for piece in ("allx", "tx"))
    known_y, test_y = (_load(folder, piece, np.ndarray, file) for piece in ("ally", "ty"))
    place = _test_nodes(folder, file)
    y = np.zeros(len(neighbours), dtype=np.int64)
    y[: len(known_y)] = known_y.argmax(axis=1)
    y[place] = test_y.argmax(axis=1)
    return Published(num_nodes=len(y), edges=_edges(neighbours), x=_features(known, test, place, len(y)), y=y)


def _read_split(folder: str, file: Callable[[str], Path], split: str) -> Array:
    if split in MASKS:
        return read_masks(file(_mask(folder, MASKS.index(split))))
    test = _test_nodes(folder, file)
    train = len(_load(folder, "y", np.ndarray, file))
    node = np.arange(test.max() + 1)
    return parts_of(node < train, (node >= train) & (node < train + VALID), np.isin(node, test))


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
    paths = [*(_piece(folder, piece) for piece in PIECES), *(_mask(folder, number) for number in range(10))]
    return single_graph(
        folder.lower(),
        partial(_read, folder),
        files=tuple(
            pinned(path, f"{GEOM_GCN if path.endswith('.npz') else PLANETOID}/{path.rsplit('/', 1)[1]}")
            for path in paths
        ),
        fixed=("public", *MASKS),
        read_split=partial(_read_split, folder),
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
        "15 nodes have no features and no label in the files: they get a row of zeros and class 0",
        "48 other nodes have no edge",
        "the masks geom-gcn-4 and -5 leave 1,207 nodes out",
        "papers that give CiteSeer 4,676 edges count its 124 self-loops",
    ),
    _source(
        "PubMed",
        "19,717 papers on diabetes, their words (TF-IDF) and citations; 3 kinds",
        "papers that give PubMed 44,327 edges count its 3 self-loops",
    ),
)

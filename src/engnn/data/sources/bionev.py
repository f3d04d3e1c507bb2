"""Link prediction without features: protein interactions of STRING as BioNEV (Yue et al. 2020) gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Published, single_graph

PATH = "BioNEV/STRING_PPI.edgelist"
PUBLISHED = f"{GITHUB}/xiangyue9607/BioNEV/bf685e44f665bcb3afbde78fb1be0a966aa9c2bc/data/STRING_PPI/STRING_PPI.edgelist"


def _read(file: Callable[[str], Path]) -> Published:
    edges = np.loadtxt(file(PATH), dtype=np.int64).T
    return Published(num_nodes=int(edges.max()) + 1, edges=edges)  # nodes are numbered without gaps


SOURCES = (
    single_graph(
        "string",
        _read,
        files=(pinned(PATH, PUBLISHED),),
        tasks=("link",),
        provenance="substitute",
        licence="MIT",
        source="GitHub xiangyue9607/BioNEV, from the STRING database",
        summary="15,131 human proteins and their interactions",
        notes=("not in the paper: stands in for the large link datasets that could not be had",),
    ),
)

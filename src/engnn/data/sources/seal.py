"""Link prediction without features: the networks of SEAL (Zhang and Chen 2018), each a MATLAB file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array, Published, single_graph
from engnn.data.source import Source
from engnn.errors import InputError

PUBLISHED = f"{GITHUB}/muhanzhang/SEAL/ca1f019a15fb0c21796042165b4e6bee73981dd3/MATLAB/data"


def read_mat(path: Path) -> tuple[int, Array]:
    """The number of nodes, and the entries `[2, m]`, of the adjacency matrix `net`."""
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise InputError(f"{path} is a MATLAB file, which needs scipy: pip install engnn[files]") from error
    net = loadmat(path, variable_names=["net"])["net"].tocoo()
    return net.shape[0], np.stack([net.row, net.col])[:, net.data != 0]


def _read(path: str, file: Callable[[str], Path]) -> Published:
    size, edges = read_mat(file(path))
    return Published(num_nodes=size, edges=edges)


def _source(name: str, file: str, summary: str) -> Source:
    path = f"SEAL-mat/{file}.mat"
    return single_graph(
        name,
        partial(_read, path),
        files=(pinned(path, f"{PUBLISHED}/{file}.mat"),),
        tasks=("link",),
        provenance="substitute",
        source="GitHub muhanzhang/SEAL",
        summary=summary,
        notes=("not in the paper: stands in for the large link datasets that could not be had",),
    )


SOURCES = (
    _source("usair", "USAir", "332 airports of the USA and the flights between them"),
    _source("ns", "NS", "1,589 scientists of networks and who wrote with whom"),
    _source("celegans", "Celegans", "297 nerve cells of the worm C. elegans and their connections"),
    _source("ecoli", "Ecoli", "1,805 metabolites of E. coli and their pairwise reactions"),
    _source("facebook", "facebook", "4,039 users of a social network and their friendships"),
    _source("ppi", "PPI_subgraph", "3,890 human proteins and their interactions"),
    _source("arxiv", "arxiv", "18,772 astrophysicists and who wrote with whom (SNAP's ca-AstroPh)"),
    _source("wikipedia", "Wikipedia", "4,777 words of Wikipedia and which stand together"),
    _source("blogcatalog", "BlogCatalog", "10,312 bloggers and their friendships"),
)

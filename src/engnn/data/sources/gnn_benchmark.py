"""Graphs in the NPZ layout of Shchur et al. 2018: adjacency and bags of words as the parts of CSR matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from engnn.data.dataset import Provenance, Task
from engnn.data.pinned import pinned
from engnn.data.single import Published, coo, read_npz, single_graph
from engnn.data.source import Source
from engnn.data.unpickle import Sparse

STAND_IN = "not in the paper: stands in for the large link datasets that could not be had"


def _read(path: str, named: bool, file: Callable[[str], Path]) -> Published:
    adjacency, words = (_matrix(file(path), part) for part in ("adj", "attr"))
    (y,) = read_npz(file(path), "labels")
    return Published(
        num_nodes=len(y),
        edges=coo(adjacency).indices().numpy(),
        x=coo(words),
        y=y,
        classes=tuple(read_npz(file(path), "class_names")[0].tolist()) if named else (),
    )


def _matrix(path: Path, part: str) -> Sparse:
    keys = (f"{part}_{key}" for key in ("data", "indices", "indptr", "shape"))
    data, indices, indptr, (rows, columns) = read_npz(path, *keys)
    return Sparse("csr", data, indices, indptr, (int(rows), int(columns)))


def _source(
    name: str,
    path: str,
    summary: str,
    *,
    named: bool = False,
    tasks: tuple[Task, ...] = ("node", "link"),
    provenance: Provenance = "original",
    source: str,
    notes: tuple[str, ...],
) -> Source:
    return single_graph(
        name,
        partial(_read, path, named),
        files=(pinned(path),),
        tasks=tasks,
        provenance=provenance,
        licence="MIT",
        source=source,
        summary=summary,
        notes=(*notes, "features as published (not scaled to unit row sums: that is left to the model)"),
    )


_amazon = partial(
    _source,
    named=True,
    tasks=("node",),
    source="GitHub shchur/gnn-benchmark, by way of GitHub EdisonLeeeee/GraphData",
    notes=("the published arrays in an archive packed anew",),
)
_stand_in = partial(
    _source,
    provenance="substitute",
    source="GitHub EdisonLeeeee/GraphData",
    notes=(STAND_IN, "a copy under other keys: only its counts were compared with the first publication"),
)

SOURCES = (
    _amazon(
        "computers",
        "Amazon/Computers/raw/amazon_electronics_computers.npz",
        "13,752 computer goods, words of their reviews, and which are bought together; 10 kinds",
    ),
    _amazon(
        "photo",
        "Amazon/Photo/raw/amazon_electronics_photo.npz",
        "7,650 photography goods, words of their reviews, and which are bought together; 8 kinds",
    ),
    _stand_in(
        "coauthor-cs",
        "Coauthor/CS/raw/ms_academic_cs.npz",
        "18,333 computer scientists, keywords of their papers, and who wrote together; 15 fields",
    ),
    _stand_in(
        "coauthor-physics",
        "Coauthor/Physics/raw/ms_academic_phy.npz",
        "34,493 physicists, keywords of their papers, and who wrote together; 5 fields",
    ),
    _stand_in(
        "dblp",
        "CitationFull/dblp/raw/dblp.npz",
        "17,716 papers, their words (TF-IDF) and citations; 4 topics",
    ),
)

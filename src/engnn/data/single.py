"""Named datasets of one graph: nodes to be told into classes, or links to be found, from the same parsed files.

A family of such datasets says how its files are read (a function that gives a `Published`); what follows is the same
for all and is here: pairs are freed of direction, repeats and self-loops, nodes or links are split, and it is said what
was done. The files' digests vouch for their content, so that no reader checks it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data.dataset import PARTS, Dataset, Graphs, Provenance, Task
from engnn.data.source import Arrays, File, Request, Source
from engnn.data.splits import link_split, random_split, undirected
from engnn.data.undirected import undirected as both_ways
from engnn.data.unpickle import Sparse
from engnn.errors import InputError

Array = NDArray[Any]
RANDOM: Final = "random"
DENSE_BYTES: Final = 256 << 20  # features that would be larger than this stay sparse until a batch is made


@dataclass(frozen=True, kw_only=True)
class Published:
    """One graph as its files give it."""

    num_nodes: int
    edges: Array  # [2, m], in one direction or both, with or without repeats and self-loops
    x: Tensor | None = None  # [n, d] sparse COO, or dense
    y: Array | None = None  # [n], the class of each node
    classes: tuple[str, ...] = ()  # names; numbers where the files have none


def single_graph(
    name: str,
    read: Callable[[Callable[[str], Path]], Published],
    *,
    files: tuple[File, ...],
    tasks: tuple[Task, ...] = ("node", "link"),
    fixed: tuple[str, ...] = (),
    read_split: Callable[[Callable[[str], Path], str], Array] | None = None,
    node_metric: str = "accuracy",
    provenance: Provenance = "original",
    licence: str = "not stated",
    source: str,
    summary: str,
    notes: tuple[str, ...] = (),
) -> Source:
    """The dataset whose files `read` reads: 60/20/20 of the nodes, or 70/10/20 of the links, by seed.

    `fixed` names the published splits of its nodes; `read_split` gives the part of each node (see `parts_of`) in one of
    them, and opens no other files than that split needs.
    """
    metric: dict[Task, str] = {"node": node_metric, "link": "hits@100"}

    def load(request: Request) -> Dataset:
        arrays = request.cached("graph", lambda: _plain(read(request.file)))
        edges = torch.from_numpy(arrays["edges"])
        entries, loops = arrays["published"].tolist()
        dataset = Dataset(
            name=name,
            task=request.task,
            metric=metric[request.task],
            provenance=provenance,
            graphs=_graph(arrays, edges),
            notes=(
                f"{edges.size(1)} undirected edges, of {entries} published entries; {loops} self-loops left out",
                *notes,
            ),
            source=source,
            licence=licence,
        )
        if request.task == "link":
            return _links(dataset, request, arrays)
        dataset = replace(dataset, y=torch.from_numpy(arrays["y"]), classes=tuple(arrays["classes"].tolist()))
        if read_split is None or request.split not in fixed:
            return _random(dataset, request)
        part = request.cached(request.split, lambda: {"part": read_split(request.file, request.split)})["part"]
        return _fixed(dataset, request.split, part)

    return Source(
        name=name,
        tasks=tasks,
        splits=(RANDOM, *fixed),
        metric={task: metric[task] for task in tasks},
        provenance=provenance,
        load=load,
        files=files,
        licence=licence,
        source=source,
        summary=summary,
    )


def parts_of(train: Array, valid: Array, test: Array) -> Array:
    """The part of each node, by masks of any one shape: 0 in none, 1 train, 2 valid, 3 test.

    >>> parts_of(np.array([1, 0, 0]), np.array([0, 0, 0]), np.array([0, 0, 1])).tolist()
    [1, 0, 3]
    """
    masks = [np.asarray(mask, dtype=bool) for mask in (train, valid, test)]
    return np.select(masks, [1, 2, 3]).astype(np.uint8)


def coo(matrix: Sparse) -> Tensor:
    """A CSR matrix as a sparse tensor.

    >>> csr = Sparse("csr", np.array([5.0, 7.0]), np.array([2, 0]), np.array([0, 1, 1, 2]), (3, 3))
    >>> coo(csr).to_dense().tolist()
    [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return sparse(rows, matrix.indices, matrix.data, matrix.shape)


def sparse(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Tensor:
    """A sparse COO tensor of float32, in row order."""
    indices = torch.from_numpy(np.stack([rows, columns]).astype(np.int64))
    return torch.sparse_coo_tensor(
        indices, torch.from_numpy(values.astype(np.float32)), shape, check_invariants=True
    ).coalesce()


def read_npz(path: Path, *keys: str) -> list[Array]:
    """The arrays of those names in a NumPy archive, without objects."""
    with np.load(path) as archive:
        return [archive[key] for key in keys]


def read_masks(path: Path) -> Array:
    """The part of each node in one of Geom-GCN's files of masks."""
    return parts_of(*read_npz(path, "train_mask", "val_mask", "test_mask"))


def _plain(published: Published) -> Arrays:
    """What is cached of a graph."""
    entries = torch.from_numpy(published.edges.astype(np.int64))
    edges = undirected(published.num_nodes, entries)
    loops = torch.unique(entries[0, entries[0] == entries[1]]).numel()
    arrays = {
        "num_nodes": np.array([published.num_nodes]),
        "edges": edges.numpy().astype(np.int32),
        "published": np.array([entries.size(1), loops]),
    }
    if published.x is not None:
        x = published.x if published.x.is_sparse else published.x.to_sparse()
        arrays["x_indices"] = x.indices().numpy().astype(np.int32)
        arrays["x_values"] = x.values().numpy()
        arrays["x_shape"] = np.array(x.shape)
    if published.y is not None:
        arrays["y"] = published.y.astype(np.int64)
        arrays["classes"] = np.array(published.classes or [str(kind) for kind in range(published.y.max() + 1)])
    return arrays


def _graph(arrays: Arrays, edges: Tensor) -> Graphs:
    graphs = both_ways(arrays["num_nodes"], np.array([edges.size(1)]), edges.numpy())
    if "x_shape" not in arrays:
        return graphs
    x = torch.sparse_coo_tensor(
        torch.from_numpy(arrays["x_indices"].astype(np.int64)),
        torch.from_numpy(arrays["x_values"]),
        arrays["x_shape"].tolist(),
        is_coalesced=True,
        check_invariants=True,
    )
    return replace(graphs, x=x if 4 * x.numel() > DENSE_BYTES else x.to_dense())


def _random(dataset: Dataset, request: Request) -> Dataset:
    split, notes = random_split(int(dataset.graphs.num_nodes), seed=request.seed)
    return replace(dataset, split=split, split_name=RANDOM, notes=(*dataset.notes, *notes))


def _fixed(dataset: Dataset, name: str, part: Array) -> Dataset:
    split = {known: torch.from_numpy(np.flatnonzero(part == 1 + place)) for place, known in enumerate(PARTS)}
    notes = (*dataset.notes, f"the published split {name}, whatever the seed")
    return replace(dataset, split=split, split_name=name, notes=notes)


def _links(dataset: Dataset, request: Request, arrays: Arrays) -> Dataset:
    if request.split not in ("", RANDOM):
        raise InputError(
            f"{dataset.name}: split {request.split!r} is of nodes, not of links; leave it out, or ask for {RANDOM!r}"
        )
    links = link_split(int(arrays["num_nodes"][0]), torch.from_numpy(arrays["edges"]), seed=request.seed)
    graphs = both_ways(arrays["num_nodes"], np.array([links.train.size(1)]), links.train.numpy())
    return replace(
        dataset,
        graphs=replace(graphs, x=dataset.graphs.x),
        links=links,
        split_name=RANDOM,
        notes=(
            *dataset.notes,
            f"70/10/20 of the edges at random with seed {request.seed}; the graph holds the training edges only",
            "as many non-edges as links in valid and in test, drawn with the same seed",
        ),
    )

"""Link prediction of the Open Graph Benchmark (Hu et al. 2020), from its published files and with its own splits.

A folder has `raw/` (gzipped CSV without headers: counts, edges, node features) and `split/<type>/{train,valid,test}.pt`
(pickled arrays, read without unpickling). Most of these files have no known digest, so they are checked as they are
read.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engnn.data.dataset import PARTS, Dataset, Graphs, Links
from engnn.data.pinned import GITHUB, pinned
from engnn.data.single import Array
from engnn.data.source import Arrays, File, Packed, Request, Source
from engnn.data.splits import OFFICIAL, link_leaks, undirected
from engnn.data.undirected import undirected as both_ways
from engnn.data.unpickle import load_torch
from engnn.errors import InputError

ARCHIVES = "https://snap.stanford.edu/ogb/data/linkproppred"
DDI = f"{GITHUB}/snap-stanford/relbench/a372f1eafe320f6fc0f61a807c775a09f1a8df0b/dataset"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where a dataset's files lie under the data root, and what they hold."""

    folder: str  # under `ogb`
    split: str  # the folder's name under `split`
    features: int = 0  # columns of raw/node-feat.csv.gz; there is no such file where 0
    ranked: bool = False  # each held-out link has its own negatives, which share its first node
    valid_messages: bool = False  # validation edges may carry messages in the test

    def raw(self, name: str) -> str:
        return f"ogb/{self.folder}/raw/{name}.csv.gz"

    def part(self, name: str) -> str:
        return f"ogb/{self.folder}/split/{self.split}/{name}.pt"

    def paths(self) -> tuple[str, ...]:
        tables = ("num-node-list", "num-edge-list", "edge", *(["node-feat"] if self.features else []))
        return (*map(self.raw, tables), *map(self.part, PARTS))


def read_graph(layout: Layout, file: Callable[[str], Path]) -> Arrays:
    """The training graph: `num_nodes`, `edges` (each pair once, `[2, m]`), `entries` as published, and `x` if any."""
    num_nodes, num_edges = (_count(file(layout.raw(name))) for name in ("num-node-list", "num-edge-list"))
    path = file(layout.raw("edge"))
    entries = _table(path, np.int64, num_edges, 2, "num-edge-list.csv.gz")
    _in_range(entries, num_nodes, f"{path}: row")
    arrays = {
        "num_nodes": np.array([num_nodes]),
        "edges": undirected(num_nodes, torch.from_numpy(entries.T)).numpy().astype(np.int32),
        "entries": np.array([num_edges]),
    }
    if layout.features:
        path = file(layout.raw("node-feat"))
        x = _table(path, np.float32, num_nodes, layout.features, "num-node-list.csv.gz")
        if not (finite := np.isfinite(x)).all():
            row, column = np.argwhere(~finite)[0]
            raise InputError(f"{path}: row {row + 1}, column {column + 1} is {x[row, column]}: get the file again")
        arrays["x"] = x
    return arrays


def read_links(layout: Layout, file: Callable[[str], Path], num_nodes: int) -> Arrays:
    """The split: `train`, `valid`, `test` `[2, p]`, and the negatives of the last two, `[2, k]` or `[2, p, k]`."""
    arrays = {}
    for part in PARTS:
        path = file(layout.part(part))
        held = load_torch(path)
        if not isinstance(held, dict):
            raise InputError(f"{path} holds a {type(held).__name__}, not a dict of arrays: get the file again")
        take = partial(_ids, path, held, num_nodes)
        if layout.ranked:
            source = take("source_node", "p")
            arrays[part] = np.stack([source, take("target_node", len(source))])
            if part != "train":
                ends = take("target_node_neg", len(source), "k")
                arrays[f"{part}_negatives"] = np.stack([np.broadcast_to(source[:, None], ends.shape), ends])
        else:
            arrays[part] = take("edge", "p", 2).T
            if part != "train":
                arrays[f"{part}_negatives"] = take("edge_neg", "k", 2).T
    return arrays


def _count(path: Path) -> int:
    count = int(_table(path, np.int64, 1, 1, "a dataset of one graph")[0, 0])
    if not 0 < count < 1 << 31:
        raise InputError(f"{path} says {count}, which is no sensible count: get the file again")
    return count


def _table(path: Path, kind: type[Any], rows: int, columns: int, counted_by: str) -> Array:
    """A gzipped CSV file of numbers, which has exactly so many rows and columns."""
    try:
        with gzip.open(path, "rt", encoding="ascii") as lines, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no rows: said below
            table = np.loadtxt(lines, dtype=kind, delimiter=",", ndmin=2, max_rows=rows + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path} is damaged, or not a gzipped table of numbers ({error}): get it again") from error
    if len(table) != rows:
        found = f"more than {rows}" if len(table) > rows else len(table)
        raise InputError(
            f"{path} has {found} rows, but {counted_by} has {rows}: get the files again, all of one version"
        )
    if table.shape[1] != columns:
        raise InputError(f"{path} has {table.shape[1]} columns, not {columns}: get the file again")
    return table


def _ids(path: Path, held: dict[str, Any], num_nodes: int, key: str, *shape: int | str) -> Array:
    """The node ids under `key`, int32; a letter in `shape` stands for any size above 0."""
    if key not in held:
        raise InputError(f"{path} has no {key!r}, only {', '.join(map(repr, held))}: get the file again")
    if not isinstance(held[key], np.ndarray | Tensor):
        raise InputError(f"{path}: {key!r} is a {type(held[key]).__name__}, not an array: get the file again")
    ids = np.asarray(held[key])
    fits = ids.ndim == len(shape) and all(
        size == want or (isinstance(want, str) and size) for size, want in zip(ids.shape, shape, strict=True)
    )
    if not fits or ids.dtype.kind not in "iu":
        raise InputError(
            f"{path}: {key!r} is {ids.dtype} of shape ({', '.join(map(str, ids.shape))}), "
            f"not integers of shape ({', '.join(map(str, shape))}): get the file again"
        )
    _in_range(ids, num_nodes, f"{path}: {key!r}, row")
    return ids.astype(np.int32)


def _in_range(ids: Array, num_nodes: int, where: str) -> None:
    if ids.min() < 0 or ids.max() >= num_nodes:
        first = tuple(np.argwhere((ids < 0) | (ids >= num_nodes))[0])
        raise InputError(
            f"{where} {first[0] + 1} names node {ids[first]}, but nodes are numbered 0 to {num_nodes - 1}: "
            "get the files again, all of one version"
        )


def _load(name: str, metric: str, layout: Layout, notes: tuple[str, ...], request: Request) -> Dataset:
    graph = request.cached("graph", lambda: read_graph(layout, request.file))
    num_nodes = int(graph["num_nodes"][0])
    arrays = request.cached("links", lambda: read_links(layout, request.file, num_nodes))
    pairs = {key: torch.from_numpy(array) for key, array in arrays.items()}
    # ranked negatives stay as they lie on disk, where only those that are looked at are read
    links = Links(**{key: ids if ids.dim() == 3 else ids.long() for key, ids in pairs.items()})
    graphs = _graphs(graph)
    if layout.valid_messages:
        links = replace(links, test_message=_unknown(num_nodes, links.valid, torch.from_numpy(graph["edges"])))
    dataset = Dataset(
        name=name,
        task="link",
        metric=metric,
        provenance="original",
        graphs=graphs,
        links=links,
        split_name=OFFICIAL,
        notes=(
            f"{graph['edges'].shape[1]} undirected edges, of {graph['entries'][0]} published entries",
            *notes,
            "the graph holds the training edges only; negatives are those of the benchmark",
        ),
        source="Open Graph Benchmark",
    )
    leaks = request.cached("leaks", lambda: {"leaks": np.array(link_leaks(dataset) or [""])})["leaks"].tolist()
    return replace(dataset, notes=(*dataset.notes, *(f"as published: {leak}" for leak in leaks if leak)))


def _graphs(graph: Arrays) -> Graphs:
    graphs = both_ways(graph["num_nodes"], np.array([graph["edges"].shape[1]]), graph["edges"])
    return replace(graphs, x=torch.from_numpy(graph["x"])) if "x" in graph else graphs


def _unknown(num_nodes: int, pairs: Tensor, edges: Tensor) -> Tensor:
    """Those of `pairs` that are not among `edges`, each once."""
    new, old = undirected(num_nodes, pairs), edges.long()
    return new[:, ~torch.isin(new[0] * num_nodes + new[1], old[0] * num_nodes + old[1])]


def _packed(name: str, folder: str) -> Callable[[str], File]:
    """Files of the archive `name`, which is what is published."""
    packed = Packed(f"ogb/{name}.zip", f"{ARCHIVES}/{name}.zip", inside=name, folder=f"ogb/{folder}")
    return lambda path: File(path, packed=packed)


def _source(name: str, metric: str, layout: Layout, summary: str, *notes: str, file: Callable[[str], File]) -> Source:
    return Source(
        name=name,
        tasks=("link",),
        splits=(OFFICIAL,),
        metric={"link": metric},
        provenance="original",
        load=partial(_load, name, metric, layout, notes),
        files=tuple(map(file, layout.paths())),
        source="Open Graph Benchmark",
        summary=summary,
    )


SOURCES = (
    _source(
        "ogbl-ddi",
        "hits@20",
        Layout(folder="ogbl_ddi", split="target"),
        "4,267 drugs and which act on one another; split by the proteins they aim at",
        file=lambda path: pinned(path, f"{DDI}/{path.removeprefix('ogb/')}"),
    ),
    _source(
        "ogbl-collab",
        "hits@50",
        Layout(folder="ogbl_collab", split="time", features=128, valid_messages=True),
        "235,868 authors and who wrote together; trained on years to 2017, tested on 2019",
        "authors who wrote together in several years have one edge in the graph, and a training link for each year; "
        "how many papers and in which years is left out",
        "validation edges may carry messages in the test",
        file=_packed("collab", "ogbl_collab"),
    ),
    _source(
        "ogbl-ppa",
        "hits@100",
        Layout(folder="ogbl_ppa", split="throughput", features=58),
        "576,289 proteins of 58 species and their associations; tested on those that are dear to find",
        file=_packed("ppassoc", "ogbl_ppa"),
    ),
    _source(
        "ogbl-citation2",
        "mrr",
        Layout(folder="ogbl_citation2", split="time", features=128, ranked=True),
        "2,927,963 papers and their citations; each held-out one against 1,000 papers not cited",
        "citations are undirected in the graph, and (citing, cited) in the links; the years of papers are left out",
        file=_packed("citation-v2", "ogbl_citation2"),
    ),
)

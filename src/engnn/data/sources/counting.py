"""Substructure counting: how many copies of a pattern hang on each node of small random graphs.

`counting` is the 5,000 published graphs with their fixed split; `counting-generated` is as many graphs drawn here by
the same recipe (Chen et al. 2020, data set 2): a random regular graph, then as many random edges deleted as it has
nodes; it has splits with fewer and with more training graphs too, to see what graphs are worth. Where the files are
absent `counting` gives the generated graphs, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from engnn.data.dataset import PARTS, Dataset, Graphs, Provenance, ranges
from engnn.data.draws import Array, Draws
from engnn.data.files import MissingFile
from engnn.data.source import Arrays, File, Request, Source
from engnn.data.substructures import PATTERNS, count
from engnn.data.undirected import undirected

GRAPHS = File("graph/counting/randomgraph.npz", "b68c5d38d180cf7349118b75f94b0d57d4e0dc639b37de4832226e51c6f5632e")
TARGETS = File("graph/counting/node_targets.npz", "9ad03e79ecf813d12c36bed0cc8f02ae3bc10c398a36c684ec0a2803f2c5e88b")
HERE, LICENCE = "drawn by engnn", "Apache-2.0"  # of the generated graphs
SHAPES = ((10, 6), (15, 6), (20, 5), (30, 5))  # nodes, and the degree before edges are deleted; all equally likely
SIZES = (1500, 1000, 2500)  # graphs in train, valid, test
FEWER, MORE = (50, 100, 200, 400, 800), 3000  # training graphs of other splits; valid and test are the same
NOTE = "the MAE is in units of the counts' standard deviation over the nodes of the train and valid graphs"


def random_graph(seed: int, number: int) -> tuple[int, Array]:
    """Graph `number` of a seed: its node count, and its edges `[2, m]`, each once.

    >>> nodes, edges = random_graph(0, 0)
    >>> nodes, edges.shape
    (30, (2, 45))
    """
    draws = Draws(seed, (1 << 32) + number)
    nodes, degree = SHAPES[int(draws.below(len(SHAPES), 1)[0])]
    edges = _regular(nodes, degree, draws)
    return nodes, edges[:, np.sort(draws.order(edges.shape[1])[nodes:])]


def random_graphs(num_graphs: int, *, seed: int = 0, first: int = 0) -> Graphs:
    """`num_graphs` graphs of a seed from number `first` on; a graph does not depend on how many there are.

    >>> random_graphs(3).num_nodes.tolist()
    [30, 20, 10]
    """
    drawn = [random_graph(seed, number) for number in range(first, first + num_graphs)]
    return undirected(
        np.array([nodes for nodes, _ in drawn], dtype=np.int64),
        np.array([edges.shape[1] for _, edges in drawn], dtype=np.int64),
        np.concatenate([np.zeros((2, 0), dtype=np.int64), *(edges for _, edges in drawn)], axis=1),
    )


def counting_graphs(
    train: int = SIZES[0],
    valid: int = SIZES[1],
    test: int = SIZES[2],
    *,
    seed: int = 0,
    patterns: Sequence[str] = tuple(PATTERNS),
) -> Dataset:
    """Random graphs with the counts of `patterns` at each node, made without any file.

    >>> counting_graphs(3, 1, 1, patterns=["4-cycle"]).y.shape
    torch.Size([110, 1])
    """
    graphs = random_graphs(train + valid + test, seed=seed)
    parts = dict(zip(PARTS, torch.split(torch.arange(len(graphs)), [train, valid, test]), strict=True))
    return _dataset("counting-generated", "generated", graphs, count(graphs, patterns), patterns, parts, _drawn(seed))


def _regular(nodes: int, degree: int, draws: Draws) -> Array:
    """The edges of a random regular graph by the pairing model: bad pairs are undone and paired again."""
    while True:
        edges = np.zeros(0, dtype=np.int64)
        stubs = np.repeat(np.arange(nodes), degree)
        while len(stubs):
            pairs = stubs[draws.order(len(stubs))].reshape(-1, 2)
            codes = pairs.min(axis=1) * nodes + pairs.max(axis=1)
            first = np.zeros(len(codes), dtype=bool)
            first[np.unique(codes, return_index=True)[1]] = True
            good = first & (pairs[:, 0] != pairs[:, 1]) & ~np.isin(codes, edges)
            if not good.any():
                break  # most likely none of the pairs left can be an edge: start again
            edges = np.concatenate([edges, codes[good]])
            stubs = pairs[~good].ravel()
        else:
            edges.sort()
            return np.stack([edges // nodes, edges % nodes])


def _drawn(seed: int) -> str:
    return f"random regular graphs with random edges deleted, drawn by the published recipe with seed {seed}"


def _dataset(
    name: str,
    provenance: Provenance,
    graphs: Graphs,
    counts: Tensor,
    patterns: Sequence[str],
    parts: Mapping[str, Tensor],
    *notes: str,
) -> Dataset:
    part_of = torch.full([len(graphs)], len(PARTS))  # of each graph; some may be in none
    for place, part in enumerate(PARTS):
        part_of[parts[part]] = place
    of_node = part_of.repeat_interleave(graphs.num_nodes)
    known = counts[of_node < PARTS.index("test")].double()
    std = known.std(0)
    return Dataset(
        name=name if len(patterns) > 1 else f"{name}:{patterns[0]}",
        task="node",
        metric="mae",
        provenance=provenance,
        graphs=graphs,
        y=counts.float(),
        y_scale=(known.mean(0).float(), torch.where(std > 0, std, 1.0).float()),  # a constant count keeps its unit
        split={part: torch.nonzero(of_node == place).flatten() for place, part in enumerate(PARTS)},
        split_name="fixed",
        outputs=tuple(patterns),
        notes=(*notes, NOTE),
        source=HERE if provenance == "generated" else "",
        licence=LICENCE if provenance == "generated" else "",
    )


def _patterns(request: Request) -> tuple[str, ...]:
    return (request.option,) if request.option else tuple(PATTERNS)


def _published(request: Request) -> Dataset:
    try:
        graph_file, target_file = request.file(GRAPHS.path), request.file(TARGETS.path)
    except MissingFile as absent:
        return _generated(request, "counting", f"THESE ARE NOT THE PUBLISHED GRAPHS, which could not be had: {absent}")
    patterns = _patterns(request)
    with np.load(graph_file) as raw, np.load(target_file) as published:
        graphs = undirected(raw["num_nodes"], np.diff(raw["edge_ptr"]), raw["edges"])
        keys = zip(PARTS, ("train_idx", "val_idx", "test_idx"), strict=True)
        parts = {part: torch.from_numpy(raw[key]).long() for part, key in keys}
        columns = [published["names"].tolist().index(pattern) for pattern in patterns]
        counts = torch.from_numpy(published["targets"][:, columns])
    return _dataset("counting", "original", graphs, counts, patterns, parts)


def _generated(request: Request, name: str = "counting-generated", *notes: str) -> Dataset:
    def build(first: int, last: int) -> Arrays:
        drawn = random_graphs(last - first, first=first)
        return {
            "num_nodes": drawn.num_nodes.numpy(),
            "num_edges": drawn.num_edges.numpy() // 2,
            "edges": drawn.edge_index[:, ::2].numpy(),
            "counts": count(drawn).numpy().astype(np.int32),
        }

    patterns, total = _patterns(request), sum(SIZES)
    size = int(request.split.removeprefix("train-")) if request.split.startswith("train-") else SIZES[0]
    made = request.cached("generated", partial(build, 0, total))
    if size > SIZES[0]:
        more = request.cached("more", partial(build, total, total + MORE - SIZES[0]))
        made = {key: np.concatenate([made[key], more[key]], axis=1 if key == "edges" else 0) for key in made}
    graphs = undirected(made["num_nodes"], made["num_edges"], made["edges"])
    counts = torch.from_numpy(made["counts"][:, [list(PATTERNS).index(pattern) for pattern in patterns]])
    parts = dict(zip(PARTS, torch.split(torch.arange(total), list(SIZES)), strict=True))
    dataset = _dataset(name, "generated", graphs, counts, patterns, parts, *notes, _drawn(0))
    if size == SIZES[0]:
        return dataset
    learnt = torch.cat([torch.arange(min(size, SIZES[0])), torch.arange(total, len(graphs))])
    train = ranges(graphs.node_ptr[learnt], graphs.num_nodes[learnt])
    return dataset.with_split(
        {**dataset.split, "train": train}, request.split
    )  # the unit stays that of the fixed split


SOURCES = (
    Source(
        name="counting",
        tasks=("node",),
        splits=("fixed",),
        metric={"node": "mae"},
        provenance="original",
        load=_published,
        files=(GRAPHS, TARGETS),
        source="GNN-AK's random graphs, as kept by github.com/subgraph23/homomorphism-expressivity; counted anew",
        options=tuple(PATTERNS),
        summary="5,000 random graphs; at each node the copies of nine substructures (generated where absent)",
    ),
    Source(
        name="counting-generated",
        tasks=("node",),
        splits=("fixed", *(f"train-{size}" for size in (*FEWER, MORE))),
        metric={"node": "mae"},
        provenance="generated",
        load=_generated,
        licence=LICENCE,
        source=HERE,
        options=tuple(PATTERNS),
        summary="the same as counting, with graphs drawn by the same recipe; needs no file",
    ),
)

"""Subgraphs whose class is a property of theirs: density, cut ratio, coreness, number of components.

The four data sets of SubGNN (Alsentzer et al. 2020): subgraphs are chosen in, or planted into, a random graph, the
property of each is measured, and its class is where the measure lies. `density` and so on are GLASS's published copies;
`density-generated` and so on are made here by SubGNN's recipes. Where a file is absent, the plain name gives the
generated data too, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from engnn.data.dataset import PARTS, Dataset, Members, Provenance
from engnn.data.draws import Array, Draws
from engnn.data.files import MissingFile
from engnn.data.growth import (
    Neighbours,
    barabasi_albert,
    core_numbers,
    duplication_divergence,
    extended_barabasi_albert,
    join,
)
from engnn.data.source import Arrays, File, Request, Source
from engnn.data.splits import random_split
from engnn.data.undirected import undirected

Sets = list[list[int]]
HERE, LICENCE = "drawn by engnn", "Apache-2.0"  # of the generated graphs
SETS, SIZE = 250, 20  # subgraphs, and nodes in each
NODES, JOINS = 5000, 5
TRIES = 100  # edges that are moved, at most, to bring a subgraph's property to what is wanted
DENSITIES, DENSITY_NEAR = (0.05, 0.25, 0.45), 0.01
CUT_RATIOS, CUT_RATIO_NEAR = (0.005, 0.0125, 0.02), 0.001
KEPT = 0.7  # of the edges in a duplication
SETS_PER_CORE = 30
STAPLED_TO, STAPLED_SIZE = 1000, 15  # nodes of the base graph, and of each component
REACH_AND_INSIDE = ((0.12, 0.1), (0.5, 0.5), (1.0, 0.9))  # how far apart components are; how dense each is
COMPONENTS = (1, 1, 1, 1, 5, 6, 7, 8, 9, 10)


def density(graph: Neighbours, members: Sequence[int]) -> float:
    """The share of the pairs of members that are joined."""
    return 2 * len(_inside(graph, members)) / (len(members) * (len(members) - 1))


def cut_ratio(graph: Neighbours, members: Sequence[int]) -> float:
    """The share of the pairs of a member and another node that are joined."""
    return len(_across(graph, members)) / (len(members) * (len(graph) - len(members)))


def coreness(graph: Neighbours, members: Sequence[int]) -> float:
    """The members' mean core number within the subgraph."""
    place = {node: i for i, node in enumerate(members)}
    return float(np.mean(core_numbers([{place[v]: None for v in graph[u] if v in place} for u in members])))


def components(graph: Neighbours, members: Sequence[int]) -> float:
    """The number of connected components of the subgraph."""
    left, found = set(members), 0
    while left:
        left -= _distances(graph, left.pop(), within=left).keys()
        found += 1
    return found


def terciles(values: Array) -> Array:
    """Two cuts that leave a third of the values in each of three classes, as nearly as ties allow.

    >>> np.digitize([1, 5, 2, 6, 3, 4], terciles(np.array([1, 5, 2, 6, 3, 4]))).tolist()
    [0, 2, 1, 2, 1, 2]
    """
    third = len(values) / 3
    cuts: Array = np.sort(values)[[int(third) - 1, int(2 * third) - 1]]
    return cuts


def one_or_many(values: Array) -> Array:
    """One cut, between a single component and five or more."""
    return np.array([5.0])


def plant_density(draws: Draws) -> tuple[Neighbours, Sets]:
    """Neighbourhoods in a preferential attachment graph, thinned or thickened."""
    graph = barabasi_albert(NODES, JOINS, draws)
    sets = [list(_distances(graph, draws.one(NODES)))[:SIZE] for _ in range(SETS)]
    for members in sets:
        wanted = DENSITIES[draws.one(len(DENSITIES))]
        for _ in range(TRIES):
            excess = density(graph, members) - wanted
            if abs(excess) < DENSITY_NEAR:
                break
            if excess > 0:
                edges = _inside(graph, members)
                _part(graph, *edges[draws.one(len(edges))])
            else:
                one, other = draws.order(SIZE)[:2].tolist()
                join(graph, members[one], members[other])
    return graph, sets


def plant_cut_ratio(draws: Draws) -> tuple[Neighbours, Sets]:
    """Cliques planted on random nodes of a preferential attachment graph, with edges to the rest added or taken."""
    graph = barabasi_albert(NODES, JOINS, draws)
    sets = [draws.order(NODES)[:SIZE].tolist() for _ in range(SETS)]
    for members in sets:
        for i, u in enumerate(members):
            for v in members[:i]:
                join(graph, u, v)
    for members in sets:
        wanted = CUT_RATIOS[draws.one(len(CUT_RATIOS))]
        for _ in range(TRIES):
            excess = cut_ratio(graph, members) - wanted
            if abs(excess) < CUT_RATIO_NEAR:
                break
            if excess > 0:
                edges = _across(graph, members)
                _part(graph, *edges[draws.one(len(edges))])
            else:
                outside = draws.one(NODES)
                while outside in members:
                    outside = draws.one(NODES)
                join(graph, members[draws.one(SIZE)], outside)
    return graph, sets


def plant_coreness(draws: Draws) -> tuple[Neighbours, Sets]:
    """Small duplication graphs planted on nodes of one core number in a large one."""
    graph = duplication_divergence(NODES, KEPT, draws)
    core = np.array(core_numbers(graph))
    sets = []
    for level in np.unique(core):
        nodes = np.flatnonzero(core == level)
        mixed = nodes[draws.order(len(nodes))]
        for start in range(0, min(len(mixed), SETS_PER_CORE * SIZE) - SIZE + 1, SIZE):
            members = mixed[start : start + SIZE].tolist()
            for u, others in enumerate(duplication_divergence(SIZE, KEPT, draws)):
                for v in others:
                    join(graph, members[u], members[v])
            sets.append(members)
    return graph, sets


def plant_components(draws: Draws) -> tuple[Neighbours, Sets]:
    """Small graphs stapled, each by one edge, to nodes of a base graph that are near one another or far apart."""
    graph = barabasi_albert(STAPLED_TO, JOINS, draws)
    base = [dict(others) for others in graph]
    sets = []
    for _ in range(SETS):
        reach, inside = REACH_AND_INSIDE[draws.one(len(REACH_AND_INSIDE))]
        root = draws.one(STAPLED_TO)
        distance = _distances(base, root)
        hops = int(reach * max(distance.values()))
        far = [node for node, steps in distance.items() if steps == hops]
        members: list[int] = []
        for _ in range(COMPONENTS[draws.one(len(COMPONENTS))]):
            at = far[draws.one(len(far))] if members else root
            start = len(graph)
            graph += [
                {start + other: None for other in others}
                for others in extended_barabasi_albert(STAPLED_SIZE, JOINS, inside, draws)
            ]
            join(graph, at, start + draws.one(STAPLED_SIZE))
            members += range(start, len(graph))
        sets.append(members)
    return graph, sets


@dataclass(frozen=True)
class Recipe:
    """How one of the data sets is made, what is measured of each subgraph, and where the classes part."""

    plant: Callable[[Draws], tuple[Neighbours, Sets]]
    measure: Callable[[Neighbours, Sequence[int]], float]
    cuts: Callable[[Array], Array]
    classes: tuple[str, ...]
    summary: str
    sha256: str
    seed: int = 0


RECIPES = {
    "density": Recipe(
        plant_density,
        density,
        terciles,
        ("A", "B", "C"),
        "subgraphs by their density",
        "4a975187bdfa9952275319725b9109dfcbb57e769e4825e94f72fb46a849c17c",
    ),
    "cut_ratio": Recipe(
        plant_cut_ratio,
        cut_ratio,
        terciles,
        ("A", "B", "C"),
        "subgraphs by the share of possible edges to the rest of the graph that are there",
        "fd2d24f6d61af060df3b89e845641816c0e5638e0b68308f1257a8e7fa4fcba5",
    ),
    "coreness": Recipe(
        plant_coreness,
        coreness,
        terciles,
        ("A", "B", "C"),
        "subgraphs by the mean core number within them",
        "9dba5f38151a32bdd5af787a8e05ca71e132ec125096df42265a32caf1efc585",
        seed=5,  # duplication makes graphs of very different size; this one is of the published size
    ),
    "component": Recipe(
        plant_components,
        components,
        one_or_many,
        ("A", "B"),
        "subgraphs of one connected component, or of several",
        "adaf4fa2d7c23d8987874c0b923fb2f8b6841f815de1ca6437119c55b131e6ea",
    ),
}


def generate(name: str, *, seed: int | None = None) -> Arrays:
    """The data set anew, as the arrays of a published file (but for its split); None is the seed of the named data."""
    recipe = RECIPES[name]
    graph, sets = recipe.plant(Draws(recipe.seed if seed is None else seed, 1 << 33))
    graph, sets = _largest_component(graph, sets)
    values = np.array([recipe.measure(graph, members) for members in sets])
    return {
        "num_nodes": np.array(len(graph)),
        "edge_index": np.array([(u, v) for u, others in enumerate(graph) for v in others if u < v], np.int32).T,
        "sub_ptr": np.cumsum([0, *map(len, sets)]),
        "sub_nodes": np.concatenate(sets),
        "label": np.digitize(values, recipe.cuts(values)),
    }


def _inside(graph: Neighbours, members: Sequence[int]) -> list[tuple[int, int]]:
    return [(u, v) for i, u in enumerate(members) for v in members[:i] if v in graph[u]]


def _across(graph: Neighbours, members: Sequence[int]) -> list[tuple[int, int]]:
    own = set(members)
    return [(u, v) for u in members for v in graph[u] if v not in own]


def _part(graph: Neighbours, u: int, v: int) -> None:
    del graph[u][v], graph[v][u]


def _distances(graph: Neighbours, start: int, within: set[int] | None = None) -> dict[int, int]:
    """Each node that can be reached (through nodes of `within` only) in breadth-first order, and how far it is."""
    distance = {start: 0}
    queue = [start]
    for node in queue:
        for other in graph[node]:
            if other not in distance and (within is None or other in within):
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


def _largest_component(graph: Neighbours, sets: Sets) -> tuple[Neighbours, Sets]:
    left, kept = dict.fromkeys(range(len(graph))), dict[int, int]()
    while len(left) > len(kept):
        found = _distances(graph, next(iter(left)))
        kept = max(kept, found, key=len)
        for node in found:
            del left[node]
    number = {node: i for i, node in enumerate(sorted(kept))}
    renumbered = [{number[v]: None for v in graph[u]} for u in number]
    return renumbered, [[number[node] for node in members if node in number] for members in sets]


def _file(name: str) -> File:
    return File(f"subgraph/{name}.npz", RECIPES[name].sha256)


def _published(name: str, request: Request) -> Dataset:
    try:
        path = request.file(_file(name).path)
    except MissingFile as missing:
        if request.split == "stored":
            raise
        return _generated(name, request, name, f"THESE ARE NOT THE PUBLISHED SUBGRAPHS: {missing}")
    with np.load(path) as raw:
        return _dataset(name, name, "original", dict(raw), request)


def _generated(name: str, request: Request, called: str, *notes: str) -> Dataset:
    arrays = request.cached(f"{name}-generated", partial(generate, name))
    made = f"drawn by SubGNN's recipe with seed {RECIPES[name].seed}"
    return _dataset(name, called, "generated", arrays, request, *notes, made)


def _dataset(name: str, called: str, provenance: Provenance, arrays: Arrays, request: Request, *notes: str) -> Dataset:
    count = len(arrays["label"])
    if request.split == "stored":
        parts = {part: torch.from_numpy(np.flatnonzero(arrays["split"] == i)) for i, part in enumerate(PARTS)}
    else:
        train, valid = count - count // 2, count // 4  # as GLASS does
        shares = (train / count, valid / count, (count - train - valid) / count)
        parts, said = random_split(count, shares, seed=request.seed)
        notes = (*notes, *said)
    edges = arrays["edge_index"]
    return Dataset(
        name=called,
        task="subgraph",
        metric="micro_f1",
        provenance=provenance,
        graphs=undirected(arrays["num_nodes"].reshape(1), np.array([edges.shape[1]]), edges),
        y=torch.from_numpy(arrays["label"]).long(),
        split=parts,
        split_name=request.split or "random",
        members=Members(torch.from_numpy(arrays["sub_ptr"]).long(), torch.from_numpy(arrays["sub_nodes"]).long()),
        classes=RECIPES[name].classes,
        notes=notes,
        source=HERE if provenance == "generated" else "",
        licence=LICENCE if provenance == "generated" else "",
    )


def _sources(name: str, recipe: Recipe) -> tuple[Source, Source]:
    called = f"{name}-generated"
    return (
        Source(
            name=name,
            tasks=("subgraph",),
            splits=("random", "stored"),
            metric={"subgraph": "micro_f1"},
            provenance="original",
            load=partial(_published, name),
            files=(_file(name),),
            source="SubGNN's synthetic data as kept by github.com/Xi-yuanWang/GLASS",
            summary=f"{recipe.summary} (generated where the file is absent)",
        ),
        Source(
            name=called,
            tasks=("subgraph",),
            splits=("random",),
            metric={"subgraph": "micro_f1"},
            provenance="generated",
            load=partial(_generated, name, called=called),
            licence=LICENCE,
            source=HERE,
            summary=f"{recipe.summary}, made by the same recipe; needs no file",
        ),
    )


SOURCES = tuple(source for name, recipe in RECIPES.items() for source in _sources(name, recipe))

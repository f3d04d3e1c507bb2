"""Random graphs that grow node by node: preferential attachment, and duplication with divergence.

A graph is a list that holds each node's neighbours, in the order in which they came (a dict, which keeps it, so that a
seed makes the same graph everywhere).
"""

from __future__ import annotations

from engnn.data.draws import Draws

Neighbours = list[dict[int, None]]


def join(graph: Neighbours, u: int, v: int) -> None:
    """Add the edge between `u` and `v`, where there is none yet."""
    graph[u][v] = graph[v][u] = None


def barabasi_albert(nodes: int, joins: int, draws: Draws) -> Neighbours:
    """Each new node is joined to `joins` others, chosen in proportion to their degrees (Barabási and Albert 1999).

    >>> graph = barabasi_albert(6, 2, Draws(0, 0))
    >>> sum(map(len, graph)) // 2
    8
    """
    graph: Neighbours = [{} for _ in range(nodes)]
    ends: list[int] = []  # each node as often as it has edges
    targets = dict.fromkeys(range(joins))
    for node in range(joins, nodes):
        for target in targets:
            join(graph, node, target)
        ends += [*targets, *[node] * joins]
        targets = {}
        while len(targets) < joins:
            targets[ends[draws.one(len(ends))]] = None
    return graph


def extended_barabasi_albert(nodes: int, joins: int, inside: float, draws: Draws) -> Neighbours:
    """As above, but a step adds, with probability `inside`, `joins` edges among the nodes that are there, if they fit.

    Albert and Barabási (2000), without rewiring.

    >>> len(extended_barabasi_albert(15, 5, 0.5, Draws(0, 0)))
    15
    """
    graph: Neighbours = [{} for _ in range(joins)]
    ends = list(range(joins))
    while len(graph) < nodes:
        pairs = len(graph) * (len(graph) - 1) // 2
        edges = sum(map(len, graph)) // 2
        if draws.unit(1)[0] < inside and edges + joins <= pairs:
            for _ in range(joins):
                free = [node for node, others in enumerate(graph) if len(others) < len(graph) - 1]
                source = free[draws.one(len(free))]
                preferred = [node for node in ends if node != source and node not in graph[source]]
                target = preferred[draws.one(len(preferred))]
                join(graph, source, target)
                ends += [source, target]
        else:
            targets: dict[int, None] = {}
            while len(targets) < joins:
                targets[ends[draws.one(len(ends))]] = None
            node = len(graph)
            graph.append({})
            for target in targets:
                join(graph, node, target)
            ends += [*targets, *[node] * (joins + 1)]
    return graph


def duplication_divergence(nodes: int, kept: float, draws: Draws) -> Neighbours:
    """Each new node copies a random one, and keeps each of its edges with probability `kept` (Ispolatov et al. 2005).

    A copy that keeps none is drawn again.

    >>> graph = duplication_divergence(20, 0.7, Draws(0, 0))
    >>> min(map(len, graph)) > 0
    True
    """
    graph: Neighbours = [{1: None}, {0: None}]
    while len(graph) < nodes:
        model = graph[draws.one(len(graph))]
        keeps = draws.unit(len(model)) < kept
        if keeps.any():
            node = len(graph)
            neighbours = [other for other, keep in zip(model, keeps.tolist(), strict=True) if keep]
            graph.append({})
            for other in neighbours:
                join(graph, node, other)
    return graph


def core_numbers(graph: Neighbours) -> list[int]:
    """Each node's core number: the largest `k` such that it lies in a subgraph where all have `k` neighbours or more.

    >>> core_numbers([{1: None, 2: None}, {0: None, 2: None}, {0: None, 1: None, 3: None}, {2: None}])
    [2, 2, 2, 1]
    """
    degree = [len(others) for others in graph]
    core = [-1] * len(graph)
    level = 0
    left = set(range(len(graph)))
    while left:
        level = max(level, min(degree[node] for node in left))
        peeled = [node for node in left if degree[node] <= level]
        for node in peeled:
            core[node] = level
        left.difference_update(peeled)
        for node in peeled:
            for other in graph[node]:
                degree[other] -= 1
    return core

"""Graphs whose nodes and edges carry named values (GraphML, node-link JSON, NetworkX) become tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engnn.data.own.table import Table, Tables, Values, as_texts, make_table
from engnn.errors import InputError

Attributes = Mapping[str, object]


@dataclass
class Attributed:
    """One graph as a source lists it. `at` is where a node or an edge stands, which `place` below puts in words."""

    name: str = ""
    attributes: Attributes = field(default_factory=dict)
    nodes: list[tuple[str, Attributes, int]] = field(default_factory=list)  # id, values, at
    edges: list[tuple[str, str, Attributes, int]] = field(default_factory=list)  # source, target, values, at


def tables_of(graphs: Sequence[Attributed], name: str, place: Callable[[str, int, int], str]) -> Tables:
    """The tables of these graphs; `place("nodes", 0, at)` says where a node of the first stands."""
    many = len(graphs) > 1
    called = [graph.name or str(number) for number, graph in enumerate(graphs)]
    nodes = [(number, *node) for number, graph in enumerate(graphs) for node in graph.nodes]
    edges = [(number, *edge) for number, graph in enumerate(graphs) for edge in graph.edges]
    node_place = [(number, at) for number, _, _, at in nodes]
    edge_place = [(number, at) for number, _, _, _, at in edges]

    def node_at(row: int) -> str:
        return place("nodes", *node_place[row])

    def edge_at(row: int) -> str:
        return place("edges", *edge_place[row])

    of_node: list[tuple[str, Values]] = [("id", [node for _, node, _, _ in nodes])]
    of_edge: list[tuple[str, Values]] = [
        ("source", [source for _, source, _, _, _ in edges]),
        ("target", [target for _, _, target, _, _ in edges]),
    ]
    if many:
        of_node.append(("graph", [called[number] for number, *_ in nodes]))
        of_edge.append(("graph", [called[number] for number, *_ in edges]))
    of_node += _columns([values for _, _, values, _ in nodes], ("id", "graph"), node_at)
    of_edge += _columns([values for _, _, _, values, _ in edges], ("source", "target", "graph"), edge_at)
    tables: Tables = {
        "nodes": make_table("nodes", f"{name}, nodes", of_node, len(nodes), node_at),
        "edges": make_table("edges", f"{name}, edges", of_edge, len(edges), edge_at),
    }
    if many:
        tables["graphs"] = _graphs(graphs, called, name)
    return tables


def _graphs(graphs: Sequence[Attributed], called: list[str], name: str) -> Table:
    def graph_at(row: int) -> str:
        return f"{name}, graph {called[row]!r}"

    columns: list[tuple[str, Values]] = [("graph", called)]
    wanted = [{key: value for key, value in graph.attributes.items() if key in GRAPH_ATTRIBUTES} for graph in graphs]
    columns += _columns(wanted, ("graph",), graph_at)
    return make_table("graphs", f"{name}, graphs", columns, len(graphs), graph_at)


def _columns(rows: Sequence[Attributes], taken: Iterable[str], at: Callable[[int], str]) -> list[tuple[str, Values]]:
    names = dict.fromkeys(key for values in rows for key in values)
    for key in taken:
        if key in names:
            row = next(row for row, values in enumerate(rows) if key in values)
            raise InputError(f"{at(row)}: the attribute {key!r} has the name of something else: rename it")
    return [(key, as_texts([values.get(key) for values in rows], _at(at, key))) for key in names]


def _at(at: Callable[[int], str], key: str) -> Callable[[int], str]:
    return lambda row: f"{at(row)}: {key!r}"


GRAPH_ATTRIBUTES = ("label", "label:number", "label:category", "split")

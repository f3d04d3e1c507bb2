"""Node-link JSON, as NetworkX and D3 write it: one graph, or a list of graphs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engnn.data.own.attributed import Attributed, tables_of
from engnn.data.own.stream import opened
from engnn.data.own.table import Tables
from engnn.errors import InputError, nearest

KEYS = ("nodes", "edges", "links", "graph", "directed", "multigraph")
ALIKE = ("key",)  # what tells parallel edges apart in a multigraph


def read_node_link(path: Path) -> Tables:
    """The tables in a node-link file (`.json`, `.json.gz`)."""
    with opened(path) as file:
        data = file.read()
    try:
        found = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_distinct, parse_constant=_no_number, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply for a node-link file: write it again") from error
    except ValueError as error:
        raise InputError(f"{path} is not sound JSON: {error}. Mend it there, or write it again") from error
    documents = found if isinstance(found, list) else [found]
    if not documents:
        raise InputError(f"{path} is an empty list: give one graph at the least")
    several = len(documents) > 1

    def place(kind: str, graph: int, at: int) -> str:
        key = "links" if kind == "edges" and "links" in documents[graph] else kind
        return f"{path}, {f'graph {graph}, ' if several else ''}{key}[{at}]"

    return tables_of([_graph(one, path, number) for number, one in enumerate(documents)], str(path), place)


def _graph(document: object, path: Path, number: int) -> Attributed:
    where = f"{path}, graph {number}" if number else str(path)
    if not isinstance(document, dict):
        raise InputError(f"{where} is not an object with the keys 'nodes' and 'edges': write node-link JSON")
    for key in document:
        if key not in KEYS:
            raise InputError(f"{where}: key {key!r} is not known; {nearest(key, KEYS)}")
    if "edges" in document and "links" in document:
        raise InputError(f"{where} has both 'edges' and 'links': put all edges under one of them")
    edges = "links" if "links" in document else "edges"
    for key in ("nodes", edges):
        if not isinstance(document.get(key), list):
            raise InputError(f"{where} has no list {key!r}: write node-link JSON, with the keys 'nodes' and 'edges'")
    attributes = document.get("graph", {})
    if not isinstance(attributes, dict):
        raise InputError(f"{where}: 'graph' must be an object of the graph's own values")
    found = Attributed(name=_name(attributes, "id", where) if "id" in attributes else "", attributes=attributes)
    for at, node in enumerate(document["nodes"]):
        values = _object(node, f"{where}, nodes[{at}]")
        found.nodes.append((_name(values, "id", f"{where}, nodes[{at}]"), _without(values, "id"), at))
    for at, edge in enumerate(document[edges]):
        values = _object(edge, f"{where}, {edges}[{at}]")
        ends = [_name(values, end, f"{where}, {edges}[{at}]") for end in ("source", "target")]
        found.edges.append((ends[0], ends[1], _without(values, "source", "target", *ALIKE), at))
    return found


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(
            f'{where} is not an object: write {{"id": …}} for a node, {{"source": …, "target": …}} for an edge'
        )
    return value


def _name(values: Mapping[str, object], key: str, where: str) -> str:
    name = values.get(key)
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise InputError(f"{where}: {key!r} is {json.dumps(name):.60}: an id is text or a whole number; give one")
    return str(name)


def _without(values: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in values.items() if key not in keys}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice!r:.60} twice")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON; leave the value out, or write null, where it is missing")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text:.60} is too large a number")
    return number

"""Node-link JSON is read as NetworkX and D3 write it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engnn.data import own
from engnn.data.own.node_link import read_node_link
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]


@pytest.mark.parametrize("edges", ["edges", "links"])
@pytest.mark.parametrize(
    "graph", [nx.karate_club_graph(), nx.path_graph(5, nx.MultiGraph), nx.gnp_random_graph(30, 0.1, directed=True)]
)
def test_a_graph_that_networkx_wrote_has_its_nodes_edges_and_values(graph: nx.Graph, edges: str, write: Write) -> None:
    document = nx.node_link_data(graph, edges=edges)
    tables = read_node_link(write({"g.json": json.dumps(document)}) / "g.json")
    assert tables["nodes"].columns["id"] == list(map(str, graph))
    ours = zip(tables["edges"].text("source"), tables["edges"].text("target"), strict=True)
    assert [(int(a), int(b)) for a, b in ours] == [edge[:2] for edge in graph.edges]
    for key, values in tables["nodes"].features.items():
        assert list(values) == [str(values) for _, values in graph.nodes(data=key)]


def test_whole_numbers_of_any_size_are_ids_and_each_its_own(write: Write) -> None:
    ids = [2**53, 2**53 + 1, -1, 10**40]
    document = {"nodes": [{"id": name} for name in ids], "edges": []}
    tables = read_node_link(write({"g.json": json.dumps(document)}) / "g.json")
    assert tables["nodes"].columns["id"] == list(map(str, ids))


def test_a_place_is_where_it_stands_in_its_list(write: Write) -> None:
    document = {"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1}] * 3}
    path = write({"g.json": json.dumps([document, document])}) / "g.json"
    tables = read_node_link(path)
    assert tables["nodes"].place(1) == f"{path}, graph 1, nodes[0]"
    assert tables["edges"].place(5) == f"{path}, graph 1, links[2]"


def test_values_are_text_as_json_writes_them_and_null_is_missing(write: Write) -> None:
    nodes = [{"id": "a", "v": True}, {"id": "b", "v": 1.5}, {"id": "c", "v": None}, {"id": "d"}, {"id": "e", "v": 7}]
    tables = read_node_link(write({"g.json": json.dumps({"nodes": nodes, "edges": []})}) / "g.json")
    assert tables["nodes"].columns["v"] == ["true", "1.5", "", "", "7"]


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["nodes", "edges", "links", "graph", "id", "source", "target", "label", "key", "weight"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


def read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.json"
        path.write_bytes(content)
        try:
            dataset = own.read(path, task="link")
        except InputError as error:
            message: str | None = str(error)
        else:
            message = None
    if message is not None:
        assert message.isprintable()
        return
    found = json.loads(content)
    graph = found[0] if isinstance(found, list) else found
    assert dataset.node_ids == tuple(str(node["id"]) for node in graph["nodes"])


@given(json_values)
@example({"nodes": [{"id": i} for i in range(5)], "edges": [{"source": i, "target": i + 1} for i in range(4)]})
@example([{"nodes": {"id": 0}, "edges": []}])
@example({"nodes": [[]], "edges": [1]})
def test_any_json_is_a_graph_or_one_error(value: object) -> None:
    read_or_refused(json.dumps(value).encode())


@given(st.lists(st.tuples(json_values, json_values), max_size=5))
def test_any_values_of_nodes_and_edges_are_a_graph_or_one_error(values: list[tuple[object, object]]) -> None:
    nodes = [{"id": number, "v": one} for number, (one, _) in enumerate(values)]
    edges = [
        {"source": number, "target": (number + 1) % len(values), "v": one} for number, (_, one) in enumerate(values)
    ]
    read_or_refused(json.dumps({"nodes": nodes, "edges": edges}).encode())


@given(st.binary(max_size=100))
def test_any_bytes_are_a_graph_or_one_error(content: bytes) -> None:
    read_or_refused(content)
    read_or_refused(b'{"nodes": [' + content + b'], "edges": []}')

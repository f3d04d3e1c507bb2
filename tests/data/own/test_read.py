"""The same data give the same dataset in whichever form they come; ids stay what they are; nothing is written."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from engnn.data import own
from engnn.data.check import check
from engnn.data.dataset import Dataset
from engnn.data.splits import audit_split

Write = Callable[[Mapping[str, str | bytes]], Path]
Same = Callable[[Dataset, Dataset], None]
Rows = Sequence[Mapping[str, Any]]
Form = Callable[[Path, Rows, Rows, Rows], Dataset]  # of nodes, edges and graphs

IDS = ("001", "1", "9007199254740993", "9007199254740992", "NA", "nan", "a,b", "été", "x y", "1.0", "1e5", "TRUE")
NODES: Rows = [
    {"id": name, "age": None if i == 3 else 20.5 + i, "town": None if i == 4 else ("Rome", "Bonn")[i % 3 == 0]}
    | {"label": None if i == 5 else ("yes", "no")[i % 2]}
    for i, name in enumerate(IDS)
]
EDGES: Rows = [
    {"source": IDS[i], "target": IDS[(i + step) % len(IDS)], "weight": 0.5 + i, "km": 10.25 * i + step}
    for i in range(6)
    for step in (1, 3)
]
IN_GRAPHS: Rows = [{"id": f"{g}{n}", "graph": f"g{g}", "size": g + n / 4} for g in range(6) for n in range(2 + g % 3)]
EDGES_IN_GRAPHS: Rows = [
    {"source": one["id"], "target": two["id"]} for one, two in pairwise(IN_GRAPHS) if one["graph"] == two["graph"]
]
GRAPHS: Rows = [{"graph": f"g{g}", "label": ("even", "odd")[g % 2]} for g in range(6)]


def table(rows: Rows) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def as_csv(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    for name, rows in (("nodes", nodes), ("edges", edges), ("graphs", graphs)):
        if rows:
            (folder / f"{name}.csv").write_bytes(table(rows))
    return own.read(folder)


def as_gzipped_csv(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    for name, rows in (("nodes", nodes), ("edges", edges), ("graphs", graphs)):
        if rows:
            (folder / f"{name}.csv.gz").write_bytes(gzip.compress(table(rows)))
    return own.read(folder)


def as_parquet(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    for name, rows in (("nodes", nodes), ("edges", edges), ("graphs", graphs)):
        if rows:
            pd.DataFrame(rows).to_parquet(folder / f"{name}.parquet", index=False)
    return own.read(folder)


def as_frames(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    of_graphs = pd.DataFrame(graphs) if graphs else None
    return own.from_frames(pd.DataFrame(edges), pd.DataFrame(nodes), graphs=of_graphs)


def networkx(nodes: Rows, edges: Rows, graphs: Rows) -> list[nx.Graph]:
    made = []
    for row in graphs or [{"graph": ""}]:
        graph = nx.Graph(**({"name": row["graph"], "label": row["label"]} if graphs else {}))
        for node in nodes:
            if not graphs or node["graph"] == row["graph"]:
                known = {key: value for key, value in node.items() if key not in ("id", "graph") and value is not None}
                graph.add_node(node["id"], **known)
        for edge in edges:
            if edge["source"] in graph:
                values = {key: value for key, value in edge.items() if key not in ("source", "target")}
                graph.add_edge(edge["source"], edge["target"], **values)
        made.append(graph)
    return made


def as_networkx(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    made = networkx(nodes, edges, graphs)
    return own.from_networkx(made if graphs else made[0])


def as_graphml(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    documents = []
    for row, graph in zip(graphs or [{}], networkx(nodes, edges, graphs), strict=True):
        graph.graph = {"label": row["label"]} if graphs else {}
        document = "\n".join(nx.generate_graphml(graph, named_key_ids=True))
        if graphs:  # networkx gives a graph no id
            document = document.replace("<graph ", f'<graph id="{row["graph"]}" ')
        documents.append(document)
    start, end = documents[0].index("<graph "), "</graphml>"
    whole = documents[0][:start] + "".join(d[d.index("<graph ") : d.index(end)] for d in documents) + end
    (folder / "g.graphml").write_text(whole, encoding="utf-8")
    return own.read(folder / "g.graphml")


def as_node_link(folder: Path, nodes: Rows, edges: Rows, graphs: Rows) -> Dataset:
    documents = [nx.node_link_data(graph, edges="links") for graph in networkx(nodes, edges, graphs)]
    for row, document in zip(graphs, documents, strict=False):
        document["graph"] = {"id": row["graph"], "label": row["label"]}
    (folder / "g.json").write_text(json.dumps(documents if graphs else documents[0]), encoding="utf-8")
    return own.read(folder / "g.json")


FORMS: dict[str, Form] = {
    "gzipped CSV": as_gzipped_csv,
    "Parquet": as_parquet,
    "frames": as_frames,
    "NetworkX": as_networkx,
    "GraphML": as_graphml,
    "node-link JSON": as_node_link,
}


@pytest.mark.parametrize("form", FORMS)
def test_one_graph_is_the_same_dataset_in_every_form(form: str, tmp_path: Path, assert_same: Same) -> None:
    (tmp_path / "csv").mkdir()
    expected = as_csv(tmp_path / "csv", NODES, EDGES, [])
    assert_same(FORMS[form](tmp_path, NODES, EDGES, []), expected)


@pytest.mark.parametrize("form", FORMS)
def test_several_graphs_are_the_same_dataset_in_every_form(form: str, tmp_path: Path, assert_same: Same) -> None:
    (tmp_path / "csv").mkdir()
    expected = as_csv(tmp_path / "csv", IN_GRAPHS, EDGES_IN_GRAPHS, GRAPHS)
    assert expected.graphs.num_nodes.tolist() == [2, 3, 4, 2, 3, 4]
    assert_same(FORMS[form](tmp_path, IN_GRAPHS, EDGES_IN_GRAPHS, GRAPHS), expected)


def test_one_graph_in_csv_is_what_its_rows_say(tmp_path: Path) -> None:
    dataset = as_csv(tmp_path, NODES, EDGES, [])
    assert dataset.ids == IDS
    assert (dataset.task, dataset.metric, dataset.provenance) == ("node", "accuracy", "own")
    assert dataset.classes == ("no", "yes")
    assert dataset.y is not None
    assert dataset.y.tolist() == [-1 if i == 5 else (i + 1) % 2 for i in range(12)]
    assert sorted(torch.cat(list(dataset.split.values())).tolist()) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    there = dataset.graphs.edge_index[:, ::2].T.tolist()
    assert there == [[i, (i + step) % 12] for i in range(6) for step in (1, 3)]
    assert dataset.graphs.edge_index[:, 1::2].T.tolist() == [pair[::-1] for pair in there]
    assert dataset.graphs.edge_weight is not None
    assert dataset.graphs.edge_weight[::2].tolist() == [edge["weight"] for edge in EDGES]

    train = dataset.split["train"].numpy()
    ages = np.array([np.nan if node["age"] is None else node["age"] for node in NODES])
    scaled = (ages - np.nanmean(ages[train])) / np.nanstd(ages[train])
    assert dataset.graphs.x is not None
    np.testing.assert_allclose(dataset.graphs.x[:, 0], np.nan_to_num(scaled, nan=0.0), rtol=1e-6)
    levels = sorted({NODES[i]["town"] or "" for i in train})
    assert dataset.scheme is not None
    assert dataset.scheme["nodes"][1] == {"column": "town", "kind": "category", "levels": levels}
    one_hot = [[float((node["town"] or "") == level) for level in levels] for node in NODES]
    assert dataset.graphs.x[:, 1:].tolist() == one_hot
    check(dataset)
    audit_split(dataset)


def test_several_graphs_in_csv_are_what_their_rows_say(tmp_path: Path) -> None:
    dataset = as_csv(tmp_path, IN_GRAPHS, EDGES_IN_GRAPHS, GRAPHS)
    assert (dataset.task, dataset.ids) == ("graph", tuple(f"g{g}" for g in range(6)))
    assert dataset.y is not None
    assert dataset.y.tolist() == [0, 1] * 3
    assert dataset.graphs.num_edges.tolist() == [2 * (nodes - 1) for nodes in (2, 3, 4, 2, 3, 4)]
    assert dataset.graphs.batch(torch.tensor([2])).edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    sizes = np.array([row["size"] for row in IN_GRAPHS])
    in_train = np.isin([int(row["graph"][1]) for row in IN_GRAPHS], dataset.split["train"])
    assert dataset.graphs.x is not None
    scaled = (sizes - sizes[in_train].mean()) / sizes[in_train].std()
    np.testing.assert_allclose(dataset.graphs.x[:, 0], scaled, rtol=1e-6)


def test_graphs_may_number_their_nodes_alike(write: Write) -> None:
    numbered = "".join(f"{i},{g}\n" for g in "ab" for i in range(3))
    folder = write(
        {
            "nodes.csv": "id,graph\n" + numbered + "0,c\n",
            "edges.csv": "source,target,graph\n0,1,a\n0,2,b\n",
            "graphs.csv": "graph,label\na,1.5\nb,2\nc,3\n",
        }
    )
    graphs = own.read(folder).graphs
    assert graphs.num_nodes.tolist() == [3, 3, 1]
    assert graphs.num_edges.tolist() == [2, 2, 0]
    assert graphs.edge_index.tolist() == [[0, 1, 0, 2], [1, 0, 2, 0]]


EDGE_INDEX = np.array([[0, 0, 1, 1, 2, 3, 4], [1, 2, 0, 2, 1, 4, 3]])  # in the order that scipy keeps
X = np.arange(10, dtype=np.float32).reshape(5, 2)
Y = np.array([0, 1, 0, 1, 0])
PARTS = {f"{part}_mask": np.arange(5) % 3 == number for number, part in enumerate(("train", "val", "test"))}


def test_arrays_are_the_same_dataset_from_a_file_from_pyg_and_from_scipy(tmp_path: Path, assert_same: Same) -> None:
    np.savez_compressed(tmp_path / "g.npz", edge_index=EDGE_INDEX, x=X, y=Y, **PARTS)
    dataset = own.read(tmp_path / "g.npz")
    data = Data(
        edge_index=torch.from_numpy(EDGE_INDEX),
        x=torch.from_numpy(X),
        y=torch.from_numpy(Y),
        **{name: torch.from_numpy(mask) for name, mask in PARTS.items()},
    )
    matrix = sp.csr_array((np.ones(7), EDGE_INDEX), shape=(5, 5))
    for other in (own.from_pyg(data), own.from_pyg([data]), own.from_scipy(matrix, x=X, y=Y, **PARTS)):
        assert_same(dataset, other)
    torch.testing.assert_close(dataset.graphs.x, torch.from_numpy(X))
    assert {part: ids.tolist() for part, ids in dataset.split.items()} == {
        "train": [0, 3],
        "valid": [1, 4],
        "test": [2],
    }
    assert dataset.ids == tuple("01234")


def test_reading_writes_nothing(tmp_path: Path, cache_folder: Path) -> None:
    as_csv(tmp_path, NODES, EDGES, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]
    assert not cache_folder.exists()


def test_a_dataset_is_named_for_its_file_or_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"mine/edges.csv": "source,target\n0,1\n1,2\n2,3\n", "mine/Graph.JSON.gz": b""}) / "mine"
    monkeypatch.chdir(folder)
    assert own.read(Path(), task="link").name == "mine"
    (folder / "Graph.JSON.gz").write_bytes(
        gzip.compress(
            b'{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}], "edges": [{"source": 0, "target": 1}, '
            b'{"source": 1, "target": 2}, {"source": 2, "target": 3}]}'
        )
    )
    assert own.read(Path("Graph.JSON.gz"), task="link").name == "Graph"


def test_what_is_not_read_is_told(write: Write) -> None:
    files = {"edges.csv": "source,target\na,b\nb,c\nc,d\n", "notes.txt": "", "weather.csv": "day\n", ".hidden.csv": ""}
    assert "not read: weather.csv" in own.read(write(files), task="link").notes

"""What is in memory already: NetworkX and PyG graphs, scipy matrices, pandas frames. Each becomes a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Batch, Data
from torch_geometric.data.data import BaseData

from engnn.data.dataset import Dataset, Task
from engnn.data.own import arrays, attributed
from engnn.data.own.assemble import assemble
from engnn.data.own.table import REQUIRED, Tables, Values, as_texts, make_table
from engnn.errors import InputError

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Scheme = Mapping[str, Any]


def from_networkx(
    graphs: nx.Graph | Sequence[nx.Graph],
    *,
    task: Task | None = None,
    seed: int = 0,
    scheme: Scheme | None = None,
    name: str = "networkx",
) -> Dataset:
    """A dataset from one NetworkX graph or several; `label`, `split` and features are the nodes' own attributes.

    Where there are several graphs, `graph.graph["label"]` may be what is to be learnt of each.

    >>> import networkx as nx
    >>> karate = nx.karate_club_graph()
    >>> nx.set_node_attributes(karate, nx.get_node_attributes(karate, "club"), "label")
    >>> dataset = from_networkx(karate, name="karate")
    >>> dataset.task, dataset.classes, len(dataset.ids)
    ('node', ('Mr. Hi', 'Officer'), 34)
    """
    import networkx as nx

    listed = _listed(graphs, nx.Graph, name, "NetworkX graphs")
    found = []
    for number, graph in enumerate(listed):
        if graph.number_of_nodes() == 0:
            raise InputError(f"{name}, graph {number} has no nodes: a graph needs one at the least; take it out")
        ids = {node: node if isinstance(node, str) else str(node) for node in graph}
        one = attributed.Attributed(str(graph.name or ""), graph.graph)
        one.nodes = [(ids[node], _named(values), at) for at, (node, values) in enumerate(graph.nodes(data=True))]
        one.edges = [
            (ids[source], ids[target], _named(values), at)
            for at, (source, target, values) in enumerate(graph.edges(data=True))
        ]
        found.append(one)

    def place(kind: str, graph: int, at: int) -> str:
        listed = found[graph].nodes[at][:1] if kind == "nodes" else found[graph].edges[at][:2]
        return f"{name}, {f'graph {graph}, ' if len(found) > 1 else ''}{kind[:-1]} {' - '.join(map(repr, listed))}"

    if not found:
        raise InputError(f"{name} holds no graphs: give one at the least")
    return assemble(name, attributed.tables_of(found, name, place), task=task, seed=seed, scheme=scheme)


def from_pyg(
    data: Data | Sequence[Data],
    *,
    task: Task | None = None,
    seed: int = 0,
    scheme: Scheme | None = None,
    name: str = "pyg",
) -> Dataset:
    """A dataset from one PyG `Data` (`y` for each node, and its masks) or several (`y` for each graph, or each node).

    `x` and `edge_attr` are taken as they are. `y` of integers is a class, of floats a value to be estimated; several
    columns of 0 and 1 are yes/no answers.

    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> path = Data(x=torch.eye(3), edge_index=edges, y=torch.tensor([0, 1, 0]))
    >>> from_pyg(path).split["train"].numel()
    1
    """
    if isinstance(data, Batch):
        raise InputError(f"{name} is a Batch, in which a wrong edge cannot be told: give data.to_data_list()")
    listed = _listed(data, Data, name, "torch_geometric.data.Data")
    graphs = []
    for number, graph in enumerate(listed):
        where = f"{name}, graph {number}" if len(listed) > 1 else name
        graphs.append({key: _array(graph[key], f"{where}: {key}") for key in arrays.KEYS if graph.get(key) is not None})
        if "num_nodes" not in graph._store and "num_nodes" in graphs[-1]:
            del graphs[-1]["num_nodes"]  # PyG's guess, from the largest number in edge_index
    return assemble(name, arrays.tables_of(graphs, name, task), task=task, seed=seed, scheme=scheme)


def from_scipy(
    adjacency: Any,
    *,
    x: Any = None,
    y: ArrayLike | None = None,
    ids: Sequence[str] | None = None,
    train_mask: ArrayLike | None = None,
    val_mask: ArrayLike | None = None,
    test_mask: ArrayLike | None = None,
    task: Task | None = None,
    seed: int = 0,
    scheme: Scheme | None = None,
    name: str = "scipy",
) -> Dataset:
    """A dataset from a sparse adjacency matrix `[n, n]`; entries other than 1 are weights, stored zeros are no edges.

    >>> import scipy.sparse as sp
    >>> ring = sp.coo_array(([1.0] * 5, ([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])), shape=(5, 5))
    >>> from_scipy(ring, task="link").links.train.size(1)
    3
    """
    if not hasattr(adjacency, "tocoo") or adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(f"{name}: the adjacency must be a square sparse matrix, not {type(adjacency).__name__}")
    entries = adjacency.tocoo()
    there = entries.data != 0
    graph = {
        "edge_index": np.stack([entries.row[there], entries.col[there]]).astype(np.int64),
        "num_nodes": np.array(adjacency.shape[0]),
    }
    if (entries.data[there] != 1).any():
        graph["edge_weight"] = entries.data[there]
    given = {"x": x, "y": y, "ids": ids, "train_mask": train_mask, "val_mask": val_mask, "test_mask": test_mask}
    for key, value in given.items():
        if value is not None:
            graph[key] = np.asarray(value.todense() if hasattr(value, "todense") else value)
    return assemble(name, arrays.tables_of([graph], name, task), task=task, seed=seed, scheme=scheme)


def from_frames(
    edges: pd.DataFrame,
    nodes: pd.DataFrame | None = None,
    *,
    graphs: pd.DataFrame | None = None,
    links: pd.DataFrame | None = None,
    subgraphs: pd.DataFrame | None = None,
    task: Task | None = None,
    seed: int = 0,
    scheme: Scheme | None = None,
    name: str = "frames",
) -> Dataset:
    """A dataset from pandas frames with the columns of the CSV files; NaN and None are missing values.

    >>> import pandas as pd
    >>> ring = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "a"]})
    >>> from_frames(ring, task="link").node_ids
    ('a', 'b', 'c', 'd')
    """
    import pandas as pd

    given = {"nodes": nodes, "edges": edges, "graphs": graphs, "links": links, "subgraphs": subgraphs}
    tables: Tables = {}
    for kind in REQUIRED:
        frame = given[kind]
        if frame is None and kind != "edges":
            continue
        where = f"{name}, {kind}"
        if not isinstance(frame, pd.DataFrame):
            raise InputError(f"{where}: it is a {type(frame).__name__}: give a pandas frame")
        ids = {*REQUIRED[kind], "graph"}
        columns = [
            (str(column), _series(frame.iloc[:, at], f"{where}, column {column!r}", str(column) in ids))
            for at, column in enumerate(frame.columns)
        ]
        tables[kind] = make_table(kind, where, columns, len(frame), _row_of(where))
    return assemble(name, tables, task=task, seed=seed, scheme=scheme)


def _listed(given: Any, kind: type[Any], name: str, wanted: str) -> list[Any]:
    """One graph or several as a list."""
    if isinstance(given, kind):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, BaseData):
        raise InputError(f"{name} is a {type(given).__name__}: give {wanted}, one or a list of them")
    listed = list(given)
    for number, graph in enumerate(listed):
        if not isinstance(graph, kind):
            raise InputError(f"{name}, graph {number} is a {type(graph).__name__}: give {wanted}")
    return listed


def _row_of(where: str) -> Any:
    return lambda row: f"{where}, row {row}"


def _named(values: Mapping[Any, object]) -> dict[str, object]:
    return {str(key): value for key, value in values.items()}


def _array(value: object, what: str) -> NDArray[Any]:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = value.to_dense() if value.layout != torch.strided else value
        array: NDArray[Any] = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
        return array
    if isinstance(value, (int, float, list, tuple, np.ndarray)):
        try:
            return np.asarray(value)
        except ValueError as error:
            raise InputError(f"{what} has rows of different lengths: give a tensor") from error
    raise InputError(f"{what} is a {type(value).__name__}: give a tensor")


def _series(series: pd.Series[Any], what: str, of_ids: bool) -> Values:
    kind = getattr(series.dtype, "kind", "O")
    missing = series.isna().to_numpy(dtype=bool)
    if kind == "f" and of_ids:
        raise InputError(
            f"{what} holds ids as floating-point numbers, which round large ones: make them text or integers"
        )
    if kind in "mMcV":
        raise InputError(f"{what} is of type {series.dtype}: make it text or numbers, or take it out")
    if kind == "f" or (kind in "iu" and not of_ids and series.name not in ("label", "split")):
        numbers: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    values = [None if gone else value for value, gone in zip(series.tolist(), missing.tolist(), strict=True)]
    if of_ids and any(isinstance(value, float) for value in values):
        raise InputError(f"{what} holds an id as a floating-point number, which rounds large ones: make them text")
    return as_texts(values, lambda row: f"{what}, row {row}")

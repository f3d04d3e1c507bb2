"""What is in memory becomes the dataset that it says, or is refused by a message that says which part is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Batch, Data, HeteroData

from engnn.data.dataset import Dataset
from engnn.data.own import from_frames, from_networkx, from_pyg, from_scipy
from engnn.errors import InputError

Same = Callable[[Dataset, Dataset], None]

RING = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
Y = torch.tensor([0, 1, 0, 1, 0])


def ring(**more: Any) -> Data:
    return Data(**({"edge_index": RING, "num_nodes": 5, "y": Y} | more))


def rings(count: int, **more: Any) -> list[Data]:
    """Graphs of one class or the other."""
    return [ring(y=torch.tensor([number % 2]), **more) for number in range(count)]


# --- PyG ---


def test_features_of_pyg_are_taken_as_they_are() -> None:
    x, attr = torch.randn(5, 3), torch.randn(5, 2)
    dataset = from_pyg(ring(x=x, edge_attr=attr, edge_weight=torch.tensor([1.0, 2, 3, 4, 5])))
    torch.testing.assert_close(dataset.graphs.x, x, rtol=0, atol=0)
    torch.testing.assert_close(dataset.graphs.edge_attr, attr.repeat_interleave(2, 0), rtol=0, atol=0)
    assert dataset.graphs.edge_weight is not None
    assert dataset.graphs.edge_weight.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert dataset.task == "node"


def test_both_directions_of_an_edge_are_one_whose_values_are_averaged() -> None:
    both = torch.cat([RING, RING.flip(0)], dim=1)
    data = ring(edge_index=both, edge_weight=torch.arange(10.0), edge_attr=torch.arange(10.0)[:, None])
    graphs = from_pyg(data).graphs
    assert graphs.num_edges.tolist() == [10]
    mean = (torch.arange(5.0) + torch.arange(5.0, 10)) / 2
    assert graphs.edge_weight is not None
    assert graphs.edge_attr is not None
    assert graphs.edge_weight[::2].tolist() == graphs.edge_attr[::2, 0].tolist() == mean.tolist()


@pytest.mark.parametrize(
    ("y", "classes", "outputs", "multilabel", "metric"),
    [
        (Y, ("0", "1"), (), False, "accuracy"),
        (Y[:, None], ("0", "1"), (), False, "accuracy"),
        (Y * 7 + 3, ("3", "10"), (), False, "accuracy"),
        (Y.bool(), ("0", "1"), (), False, "accuracy"),
        (2 * Y - 1, ("-1", "1"), (), False, "accuracy"),
        (Y.float() / 4, (), ("y0",), False, "mae"),
        (Y.float()[:, None] / 4, (), ("y0",), False, "mae"),
        (torch.stack([Y, 1 - Y], 1), (), ("y0", "y1"), True, "micro_f1"),
        (torch.stack([Y, 1 - Y], 1).float(), (), ("y0", "y1"), True, "micro_f1"),
        (torch.stack([Y, 1 - Y], 1) * 0.5, (), ("y0", "y1"), False, "mae"),
    ],
)
def test_what_y_means_is_by_its_type_and_its_columns(
    y: torch.Tensor, classes: tuple[str, ...], outputs: tuple[str, ...], multilabel: bool, metric: str
) -> None:
    dataset = from_pyg(ring(y=y))
    assert (dataset.classes, dataset.outputs, dataset.multilabel, dataset.metric) == (
        classes,
        outputs,
        multilabel,
        metric,
    )
    assert dataset.y is not None
    if classes:
        assert [dataset.classes[kind] for kind in dataset.y.tolist()] == [str(int(one)) for one in y.flatten().tolist()]
    else:
        torch.testing.assert_close(dataset.y, y.float().reshape(5, -1))


def test_masks_are_the_split_and_a_negative_class_outside_them_is_none() -> None:
    masks = {name: torch.arange(5) == at for at, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    dataset = from_pyg(ring(y=torch.tensor([0, 1, 0, -1, -100]), **masks))
    assert dataset.y is not None
    assert dataset.y.tolist() == [0, 1, 0, -1, -1]
    assert {part: ids.tolist() for part, ids in dataset.split.items()} == {"train": [0], "valid": [1], "test": [2]}


def test_one_label_a_graph_is_a_task_on_graphs_and_one_a_node_on_nodes() -> None:
    assert from_pyg(rings(5)).task == "graph"
    assert from_pyg([ring(), ring(), ring()]).task == "node"
    assert from_pyg(rings(5)).graphs.num_nodes.tolist() == [5] * 5
    assert from_pyg([ring(y=torch.tensor([[0.5, 1.5]])) for _ in range(4)]).outputs == ("y0", "y1")


def test_graphs_of_one_node_may_have_labels_for_nodes_or_for_graphs() -> None:
    lone = [Data(num_nodes=1, edge_index=RING[:, :0], y=torch.tensor([number % 2])) for number in range(6)]
    assert from_pyg(lone).task == "graph"
    assert from_pyg(lone, task="node").task == "node"


@pytest.mark.parametrize("change", [{"x": torch.eye(5).to_sparse()}, {"x": torch.eye(5).bfloat16()}, {"x": np.eye(5)}])
def test_features_of_other_kinds_are_made_dense_floats(change: dict[str, Any]) -> None:
    torch.testing.assert_close(from_pyg(ring(**change)).graphs.x, torch.eye(5))


def test_a_wrong_edge_in_one_graph_of_many_is_found_where_a_batch_would_read_the_next_graph() -> None:
    data = rings(4)
    data[2].edge_index = torch.tensor([[0, 1], [1, 5]])
    Batch.from_data_list(data).validate()  # is content
    with pytest.raises(InputError, match=r"pyg, graph 2: edge 1 joins nodes \[1, 5\], and nodes are numbered 0 to 4"):
        from_pyg(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (list, ["holds no graphs"]),
        (lambda: Batch.from_data_list(rings(3)), ["Batch", "to_data_list()"]),
        (lambda: [ring(), "graph"], ["graph 1 is a str"]),
        (lambda: Data(edge_index=RING, y=Y), ["how many nodes", "num_nodes"]),
        (lambda: Data(num_nodes=5, y=Y), ["no edge_index"]),
        (lambda: ring(num_nodes=0, edge_index=RING[:, :0], y=None), ["no nodes"]),
        (lambda: [*rings(3), ring(num_nodes=0, edge_index=RING[:, :0], y=Y[:1])], ["graph 3 has no nodes"]),
        (lambda: ring(edge_index=RING.float()), ["edge_index", "float32", "integers"]),
        (lambda: ring(edge_index=RING.T), ["edge_index", "(5, 2)"]),
        (lambda: ring(num_nodes=4), ["edge 3 joins nodes [3, 4]", "0 to 3"]),
        (lambda: ring(num_nodes=2.5), ["num_nodes"]),
        (lambda: ring(x=torch.full((5, 2), float("nan"))), ["x[0, 0] is nan"]),
        (lambda: ring(x=torch.eye(5) / 0), ["x[0, 0] is inf"]),
        (lambda: ring(x=torch.full((5, 2), 1e38)), ["x[0, 0] is", "scale"]),
        (lambda: ring(x=torch.eye(4)), ["x has the shape (4, 4)", "5 nodes"]),
        (lambda: ring(x="text"), ["x is a str", "tensor"]),
        (lambda: ring(edge_attr=torch.ones(4, 1)), ["edge_attr has the shape (4, 1)", "5 edges"]),
        (lambda: ring(edge_weight=torch.ones(4)), ["edge_weight has the shape (4,)", "5 edges"]),
        (lambda: ring(edge_weight=torch.ones(5, 2)), ["edge_weight", "one for each edge"]),
        (lambda: ring(edge_weight=-torch.ones(5)), ["edge_weight[0] is -1", "negative"]),
        (lambda: ring(edge_weight=torch.full((5,), float("nan"))), ["edge_weight", "nan"]),
        (lambda: None, ["pyg is a NoneType", "torch_geometric.data.Data"]),
        (HeteroData, ["pyg is a HeteroData", "torch_geometric.data.Data"]),
        (lambda: ring(x=[[1, 2], [1]]), ["x has rows of different lengths"]),
        (lambda: ring(y=torch.zeros(5, 2, 2)), ["y has the shape (5, 2, 2)"]),
        (lambda: ring(y=Y[:4]), ["y has the shape (4,)", "5 nodes"]),
        (lambda: ring(y=torch.tensor([0, 1, 0, 1, -100])), ["node 4", "-100", "masks"]),
        (lambda: ring(y=torch.tensor([0.5, 1, 2, 3, float("inf")])), ["y[4] is inf"]),
        (lambda: ring(y=torch.full((5, 2), 2)), ["[2, 2]", "0 or 1"]),
        (lambda: ring(train_mask=torch.ones(4, dtype=torch.bool)), ["train_mask has the shape (4,)"]),
        (lambda: ring(train_mask=torch.ones(5, 10, dtype=torch.bool)), ["train_mask", "(5, 10)", "choose one"]),
        (lambda: ring(train_mask=torch.ones(5)), ["train_mask", "float32", "true or false"]),
        (lambda: ring(val_mask=torch.ones(5, dtype=torch.bool)), ["'train'", "train, valid and test"]),
        (lambda: [*rings(3), ring()], ["y is for each node in some graphs and for the graph in others"]),
        (lambda: [*rings(3), ring(y=Y[:1], x=torch.eye(5))], ["graph 3", "x is in some graphs and not in others"]),
        (lambda: [ring(x=torch.eye(5)), ring(x=torch.ones(5, 2))], ["graph 1", "x has 2 column(s)", "5"]),
    ],
)
def test_what_pyg_takes_in_silence_is_refused(data: Callable[[], Any], said: list[str]) -> None:
    with pytest.raises(InputError) as error:
        from_pyg(data())
    assert [word for word in ("pyg", *said) if word not in str(error.value)] == [], error.value


# --- NetworkX ---


def test_networkx_nodes_may_be_anything_that_can_be_told_apart_as_text() -> None:
    graph = nx.grid_2d_graph(3, 3)
    nx.set_node_attributes(graph, {node: node[0] for node in graph}, "label")
    assert from_networkx(graph).ids[:2] == ("(0, 0)", "(0, 1)")
    graph.add_edge("(0, 0)", (1, 1))
    with pytest.raises(InputError, match=r"networkx, node '\(0, 0\)'.*already"):
        from_networkx(graph)


def test_a_directed_multigraph_is_taken_as_undirected_and_simple_and_that_is_said() -> None:
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (1, 2), (2, 3), (3, 3)])
    dataset = from_networkx(graph, task="link")
    assert dataset.graphs.num_nodes.tolist() == [4]
    said = " ".join(dataset.notes)
    for words in ("3 different pair", "1 of them are given in both", "1 repeated edge", "1 self-loop"):
        assert words in said


@pytest.mark.parametrize(
    ("graphs", "said"),
    [
        ([], ["holds no graphs"]),
        ([nx.path_graph(3), nx.Graph()], ["graph 1 has no nodes"]),
        ([nx.path_graph(3), 3], ["graph 1 is a int"]),
        (None, ["networkx is a NoneType", "NetworkX graphs"]),
        (nx.Graph(), ["graph 0 has no nodes"]),
    ],
)
def test_what_is_no_graph_of_networkx_is_refused(graphs: Any, said: list[str]) -> None:
    with pytest.raises(InputError) as error:
        from_networkx(graphs, task="link")
    assert [word for word in said if word not in str(error.value)] == [], error.value


def test_an_attribute_that_is_no_single_value_is_refused_by_its_node() -> None:
    graph = nx.path_graph(4)
    graph.nodes[1]["at"] = (1, 2)
    with pytest.raises(InputError, match="networkx, node '1': 'at' is a tuple: give one number or one text"):
        from_networkx(graph, task="link")
    graph.nodes[1]["at"] = float("nan")
    graph.nodes[0]["at"] = 1.0
    with pytest.raises(InputError, match="node '1': at 'nan' is not a finite number"):
        from_networkx(graph, task="link")


# --- scipy ---


def test_a_matrix_gives_its_entries_as_edges_and_other_values_than_1_as_weights(assert_same: Same) -> None:
    dense = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    one = from_scipy(sp.csr_array(dense), y=[0, 1, 0, 1])
    assert one.graphs.edge_weight is None
    assert one.graphs.edge_index[:, ::2].tolist() == [[0, 1, 2], [1, 2, 3]]
    for kind in (sp.csc_array, sp.coo_matrix, sp.lil_array, sp.dok_array):
        assert_same(from_scipy(sp.csr_array(kind(dense)), y=[0, 1, 0, 1]), one)
    weighted = from_scipy(sp.csr_array(dense * 2.5), y=[0, 1, 0, 1])
    assert weighted.graphs.edge_weight is not None
    assert weighted.graphs.edge_weight.tolist() == [2.5] * 6


def test_a_stored_zero_is_no_edge() -> None:
    matrix = sp.coo_array(([1.0, 0.0, 1.0, 1.0], ([0, 0, 1, 2], [1, 3, 2, 3])), shape=(4, 4))
    assert from_scipy(matrix, y=[0, 1, 0, 1]).graphs.num_edges.tolist() == [6]


def test_features_may_be_a_sparse_matrix_and_ids_are_the_users() -> None:
    dataset = from_scipy(sp.eye_array(4).tocsr(), x=sp.eye_array(4), y=[0.5, 1, 2, 3], ids=["a", "b", "c", "d"])
    torch.testing.assert_close(dataset.graphs.x, torch.eye(4))
    assert dataset.ids == ("a", "b", "c", "d")


@pytest.mark.parametrize("matrix", [np.eye(3), sp.random_array((3, 4)), [[0, 1]], None])
def test_what_is_no_square_sparse_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(InputError, match="scipy: the adjacency must be a square sparse matrix"):
        from_scipy(matrix)


# --- pandas ---

FRAME = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "d"]})


PARTS = {"id": list("abcdef"), "split": ["train", "train", "train", "train", "valid", "test"]}


def test_missing_values_of_every_kind_are_missing(assert_same: Same) -> None:
    labels = [1, 0, None, 1, 0, 1]
    made = [
        from_frames(
            FRAME, pd.DataFrame(PARTS | {"age": pd.array([1.0, None, 3.0, 5.0, 2.0, 2.0], dtype=kind), "label": y})
        )
        for kind in ("Float64", "float64")
        for y in (pd.array(labels, dtype="Int64"), ["" if label is None else str(label) for label in labels])
    ]
    for other in made:
        assert_same(other, made[0])
    assert made[0].y is not None
    assert made[0].y.tolist() == [1, 0, -1, 1, 0, 1]
    assert made[0].graphs.x is not None
    assert made[0].graphs.x[:4, 0].tolist() == [-1, 0, 0, 1]


def test_ids_of_pandas_are_not_rounded_even_beside_a_missing_one() -> None:
    large = pd.array([2**53 + 1, 2**53, None], dtype="Int64")
    frame = pd.DataFrame({"source": large, "target": large})
    with pytest.raises(InputError, match=r"edges, row 2: source.*blank"):
        from_frames(frame, task="link")
    ring = pd.DataFrame({"source": large[[0, 1, 0]], "target": pd.array([1, 2, 3])})
    assert from_frames(ring, task="link").node_ids == ("9007199254740993", "1", "9007199254740992", "2", "3")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.0]}), ["frames, edges, column 'source'", "round"]),
        (FRAME.assign(source=["a", 2.5, "c"]), ["column 'source'", "floating-point"]),
        (FRAME.assign(when=pd.Timestamp("2020-01-01")), ["column 'when'", "datetime64"]),
        (FRAME.assign(z=1j), ["column 'z'", "complex128"]),
        (FRAME.assign(z=[[1], [2], [3]]), ["column 'z'", "row 0", "list"]),
        (FRAME.assign(km=[1.0, np.inf, 2.0]), ["edges, row 1", "km inf"]),
        (FRAME.set_index("source"), ["no column 'source'"]),
        (pd.concat([FRAME, FRAME[["source"]]], axis=1), ["two columns are named 'source'"]),
        (FRAME.assign(weight=[1, -1, 1]), ["edges, row 1", "weight -1.0", "negative"]),
    ],
)
def test_what_a_frame_should_not_hold_is_refused(frame: pd.DataFrame, said: list[str]) -> None:
    with pytest.raises(InputError) as error:
        from_frames(frame, task="link")
    assert [word for word in said if word not in str(error.value)] == [], error.value


def test_a_categorical_column_is_its_text() -> None:
    town = pd.Categorical(["Rome", "Bonn", None, "Rome", "Oslo", "Rome"])
    dataset = from_frames(FRAME, pd.DataFrame(PARTS | {"town": town, "label": list("xyxyxy")}))
    assert dataset.scheme is not None
    assert dataset.scheme["nodes"] == [{"column": "town", "kind": "category", "levels": ["", "Bonn", "Rome"]}]


@pytest.mark.parametrize("frame", [None, [1, 2], {"source": [1], "target": [2]}, FRAME["source"]])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(InputError, match=r"frames, edges: it is a .*: give a pandas frame"):
        from_frames(frame, task="link")


def test_a_task_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(InputError, match="task 'nodes' is not known; did you mean 'node'"):
        from_pyg(ring(), task="nodes")  # type: ignore[arg-type]

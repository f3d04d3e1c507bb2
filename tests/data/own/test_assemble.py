"""Tables become one dataset; under a trained model's scheme, in the way of its training."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from engnn.data import own
from engnn.data.dataset import Dataset
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]

NODES = "id,age,town,label,split\na,20,Rome,x,train\nb,40,Bonn,y,train\nc,,Rome,x,valid\nd,99,Oslo,y,test\n"
EDGES = "source,target,weight,km\na,b,1,10\nb,c,2,20\nc,d,4,30\n"


@pytest.fixture
def trained(write: Write) -> Dataset:
    return own.read(write({"trained/nodes.csv": NODES, "trained/edges.csv": EDGES}) / "trained")


def later(write: Write, scheme: Any, nodes: str = NODES, edges: str = EDGES, **more: Any) -> Dataset:
    folder = write({"later/nodes.csv": nodes, "later/edges.csv": edges}) / "later"
    return own.read(folder, scheme=json.loads(json.dumps(scheme)), **more)


def test_features_are_learnt_on_the_training_part_alone(trained: Dataset) -> None:
    assert trained.scheme is not None
    age, town = trained.scheme["nodes"]
    assert (age["mean"], age["std"], town["levels"]) == (30, 10, ["Bonn", "Rome"])
    assert trained.graphs.x is not None
    assert trained.graphs.x.tolist() == [[-1, 0, 1], [1, 1, 0], [0, 0, 1], [pytest.approx(6.9), 0, 0]]
    (km,) = trained.scheme["edges"]
    assert (km["mean"], km["std"]) == (15, 5)  # of the edges at training nodes
    notes = " | ".join(trained.notes)
    assert "column 'age': 1 missing value(s) set to the mean" in notes
    assert "1 value(s) that the training part lacks set to zeros ('Oslo')" in notes


def test_the_same_file_under_its_scheme_has_the_same_features_and_no_split(trained: Dataset, write: Write) -> None:
    again = later(write, trained.scheme)
    torch.testing.assert_close(again.graphs.x, trained.graphs.x, rtol=0, atol=0)
    torch.testing.assert_close(again.graphs.edge_attr, trained.graphs.edge_attr, rtol=0, atol=0)
    torch.testing.assert_close(again.graphs.edge_weight, trained.graphs.edge_weight, rtol=0, atol=0)
    assert (again.split, again.classes, again.task) == ({}, ("x", "y"), "node")
    assert again.scheme == trained.scheme
    torch.testing.assert_close(again.y, trained.y, rtol=0, atol=0)


def test_a_new_file_may_lack_labels_splits_and_most_nodes(trained: Dataset, write: Write) -> None:
    nodes = "town,id,age,colour\nBonn,z,50,red\n,y,,blue\n"
    dataset = later(write, trained.scheme, nodes, "km,weight,target,source\n15,3,y,z\n")
    assert dataset.ids == ("z", "y")
    assert dataset.graphs.x is not None
    assert dataset.graphs.x.tolist() == [[2, 1, 0], [0, 0, 0]]
    assert dataset.graphs.edge_attr is not None
    assert dataset.graphs.edge_attr.tolist() == [[0], [0]]
    assert dataset.y is None
    assert dataset.classes == ("x", "y")
    notes = " | ".join(dataset.notes)
    assert "not used, since the model was trained without: colour" in notes
    assert "1 value(s) that the training part lacks set to zeros (missing)" in notes


@pytest.mark.parametrize(
    ("nodes", "edges", "said"),
    [
        (NODES.replace("age", "aeg"), EDGES, r"nodes.csv has no column 'age'.*did you mean 'aeg'"),
        (NODES.replace("40", "old"), EDGES, "nodes.csv, line 3: age 'old' is not a finite number"),
        (NODES.replace("y,test", "z,test"), EDGES, "nodes.csv, line 5: label 'z' is none of the classes"),
        (NODES, EDGES.replace("weight", "heavy"), "edges.csv has no column 'weight', which the model was trained with"),
        (NODES, EDGES.replace("km", "miles"), "edges.csv has no column 'km'"),
    ],
)
def test_a_new_file_that_does_not_fit_is_refused(
    nodes: str, edges: str, said: str, trained: Dataset, write: Write
) -> None:
    with pytest.raises(InputError, match=said):
        later(write, trained.scheme, nodes, edges)


def test_a_weight_that_the_model_does_not_know_is_left_out_and_that_is_said(write: Write) -> None:
    plain = own.read(write({"nodes.csv": NODES, "edges.csv": "source,target\na,b\nb,c\nc,d\n"}))
    dataset = later(write, plain.scheme)
    assert dataset.graphs.edge_weight is None
    assert dataset.graphs.edge_attr is None
    assert "column 'weight' not used, since the model was trained without" in dataset.notes


def test_a_model_of_one_task_does_no_other(trained: Dataset, write: Write) -> None:
    with pytest.raises(InputError, match="the model was trained for task 'node', so it cannot do 'link'"):
        later(write, trained.scheme, task="link")


@pytest.mark.parametrize("change", [{"nodes": [{"column": "age"}]}, {"edges": ["km"]}, {"task": None}])
def test_a_damaged_scheme_is_refused(change: dict[str, Any], trained: Dataset, write: Write) -> None:
    assert trained.scheme is not None
    scheme = {**trained.scheme, **change}
    if change.get("task", "") is None:
        del scheme["task"]
    with pytest.raises(InputError, match=r"scheme (is damaged|has no 'task').*save the model again"):
        later(write, scheme)


GRAPHS = {
    "nodes.csv": "id,graph,size\n" + "".join(f"{g}{n},g{g},{g + n}\n" for g in range(4) for n in range(2)),
    "edges.csv": "source,target\n" + "".join(f"{g}0,{g}1\n" for g in range(4)),
    "graphs.csv": "graph,label,split\ng0,1.5,train\ng1,2.5,train\ng2,3,valid\ng3,4,test\n",
}


def test_graphs_come_in_the_order_of_their_table_and_their_nodes_with_them(write: Write) -> None:
    order = "graph,label,split\ng3,4,test\ng1,2.5,train\ng0,1.5,train\ng2,3,valid\n"
    dataset = own.read(write(GRAPHS | {"graphs.csv": order}))
    assert (dataset.ids, dataset.metric) == (("g3", "g1", "g0", "g2"), "mae")
    assert dataset.y is not None
    assert dataset.y.flatten().tolist() == [4, 2.5, 1.5, 3]
    assert dataset.graphs.x is not None
    sizes = torch.tensor([3.0, 4, 1, 2, 0, 1, 2, 3])
    train = sizes[2:6]
    torch.testing.assert_close(dataset.graphs.x[:, 0], (sizes - train.mean()) / train.std(correction=0))
    assert dataset.split["train"].tolist() == [1, 2]


def test_one_new_graph_is_enough_for_a_model_of_graphs(write: Write) -> None:
    trained = own.read(write(GRAPHS))
    new = {"new/nodes.csv": "id,size\na,1\nb,2\n", "new/edges.csv": "source,target\na,b\n"}
    dataset = own.read(write(new) / "new", scheme=trained.scheme)
    assert (dataset.task, dataset.ids, dataset.y, len(dataset.graphs)) == ("graph", ("0",), None, 1)


def test_subgraphs_are_sets_of_nodes_and_train_on_the_features_of_theirs(write: Write) -> None:
    table = "id,nodes,label,split\ns,a b a,x,train\nt,c,y,train\nu,d c,x,valid\nv,e,y,test\n"
    nodes = "id,age\na,10\nb,20\nc,30\nd,1000\ne,5000\n"
    edges = "source,target\na,b\nb,c\nc,d\nd,e\n"
    dataset = own.read(write({"subgraphs.csv": table, "nodes.csv": nodes, "edges.csv": edges}))
    assert (dataset.task, dataset.ids) == ("subgraph", ("s", "t", "u", "v"))
    assert dataset.members is not None
    assert dataset.members.nodes.tolist() == [0, 1, 2, 3, 2, 4]
    assert dataset.members.ptr.tolist() == [0, 2, 3, 5, 6]
    assert "1 node(s) listed twice in a subgraph count once" in dataset.notes
    assert dataset.scheme is not None
    assert dataset.scheme["nodes"][0]["mean"] == 20  # of a, b and c


def test_labels_of_another_task_are_not_used_and_that_is_said(write: Write) -> None:
    dataset = own.read(write({"nodes.csv": NODES, "edges.csv": EDGES}), task="link")
    assert any("label and split not used, since the task is 'link'" in note for note in dataset.notes)
    assert dataset.y is None

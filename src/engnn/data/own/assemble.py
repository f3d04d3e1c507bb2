"""Tables become a dataset: what is to be learnt, who is asked, and the features, each step noted for the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data import columns
from engnn.data.check import check
from engnn.data.dataset import Dataset, Graphs, Links, Members, Task, offsets
from engnn.data.draws import check_seed
from engnn.data.own.edges import Edges, read_edges, read_weights
from engnn.data.own.labels import Answers, Bools, read_labels, read_split
from engnn.data.own.links import in_training, read_pairs, split_edges, split_table
from engnn.data.own.nodes import Nodes, names, number_nodes
from engnn.data.own.table import Kind, Table, Tables
from engnn.data.splits import Fractions
from engnn.data.undirected import undirected
from engnn.errors import InputError, nearest

FRACTIONS: Final[dict[Task, Fractions]] = {
    "node": (0.6, 0.2, 0.2),
    "graph": (0.6, 0.2, 0.2),
    "subgraph": (0.5, 0.25, 0.25),
    "link": (0.7, 0.1, 0.2),
}
LABELLED_IN: Final[dict[Task, Kind]] = {"node": "nodes", "graph": "graphs", "subgraph": "subgraphs", "link": "links"}
KEYS: Final = ("task", "nodes", "edges", "weighted", "classes", "outputs")


@dataclass(frozen=True)
class Asked:
    """The targets of a task: their labels and split, and the nodes and edges that are seen in training."""

    train_nodes: Bools
    train_edges: Bools
    ids: tuple[str, ...] = ()
    answers: Answers | None = None
    split: Mapping[str, Tensor] = field(default_factory=dict)
    split_name: str = "none"
    members: Members | None = None
    links: Links | None = None
    notes: tuple[str, ...] = ()


def assemble(name: str, tables: Tables, *, task: Task | None, seed: int, scheme: Mapping[str, Any] | None) -> Dataset:
    """The dataset in these tables. With a `scheme` it is for a trained model: labels and splits may be absent."""
    check_seed(seed)
    if task is not None and task not in LABELLED_IN:
        raise InputError(f"task {task!r} is not known; {nearest(task, LABELLED_IN)}")
    if scheme is not None and (lacking := [key for key in KEYS if key not in scheme]):
        raise InputError(f"the model's scheme has no {lacking[0]!r}: it is damaged; save the model again")
    if scheme is not None:
        columns.check_scheme([*scheme["nodes"], *scheme["edges"]])
    nodes = number_nodes(tables)
    if not nodes.ids:
        raise InputError(f"{nodes.listed_in} lists no nodes: a graph needs one at the least")
    edges = read_edges(tables["edges"], nodes)
    weights = read_weights(tables["edges"])
    task = _task(name, tables, task, scheme)
    asked = _ASK[task](name, tables, nodes, edges, seed, scheme)
    if asked.answers is not None and scheme is not None and len(asked.answers.outputs) != len(scheme["outputs"]):
        raise InputError(f"{name}: the model gives {len(scheme['outputs'])} values, not {len(asked.answers.outputs)}")

    notes = [*edges.notes, *_unused(tables, task)]
    if "nodes" not in tables:
        notes.append(f"{len(nodes.ids)} nodes, as the edges name them: one without edges must be listed in nodes.csv")
    node_scheme, x = _features(tables.get("nodes"), asked.train_nodes[np.argsort(nodes.rows)], scheme, "nodes", notes)
    train_rows = np.zeros(tables["edges"].rows, dtype=bool)
    train_rows[edges.rows] = np.repeat(asked.train_edges, edges.sizes)
    edge_scheme, edge_attr = _features(tables["edges"], train_rows, scheme, "edges", notes)
    if scheme is not None and scheme["weighted"] != (weights is not None):
        if weights is None:
            raise InputError(f"{tables['edges'].name} has no column 'weight', which the model was trained with: add it")
        notes.append("column 'weight' not used, since the model was trained without")
        weights = None

    graphs = _graphs(nodes, edges, asked, x, edge_attr, weights)
    answers = asked.answers
    dataset = Dataset(
        name=name,
        task=task,
        metric=_metric(task, answers),
        provenance="own",
        graphs=graphs,
        y=None if answers is None else answers.y,
        split=asked.split,
        split_name=asked.split_name,
        members=asked.members,
        links=asked.links,
        classes=_kept(scheme, "classes", answers),
        outputs=_kept(scheme, "outputs", answers),
        multilabel=answers.multilabel if answers is not None else False,
        ids=asked.ids,
        node_ids=nodes.ids if task == "link" else (),
        notes=(*asked.notes, *notes),
        scheme={
            "task": task,
            "nodes": node_scheme,
            "edges": edge_scheme,
            "weighted": weights is not None,
            "classes": list(_kept(scheme, "classes", answers)),
            "outputs": list(_kept(scheme, "outputs", answers)),
        },
    )
    return replace(dataset, notes=(*dataset.notes, *check(dataset, name)))


def _task(name: str, tables: Tables, task: Task | None, scheme: Mapping[str, Any] | None) -> Task:
    if scheme is not None:
        trained: Task = scheme["task"]
        if task not in (None, trained):
            raise InputError(f"{name}: the model was trained for task {trained!r}, so it cannot do {task!r}")
        task = trained
    found: list[Task] = [
        of
        for of, kind in LABELLED_IN.items()
        if kind in tables and (kind in ("links", "subgraphs") or "label" in tables[kind].columns)
    ]
    if task is None and len(found) != 1:
        raise InputError(
            f"{name}: there are labels for several tasks, so say which: task {' or '.join(map(repr, found))}"
            if found
            else f"{name}: nothing says what is to be learnt: add a column 'label' to the nodes or to the graphs "
            f"({_columns(tables)}), or links.csv or subgraphs.csv, or give task 'link' to predict the edges themselves"
        )
    task = task or found[0]
    if task not in found and task != "link" and (scheme is None or task == "subgraph"):
        kind = LABELLED_IN[task]
        known = f"{tables[kind].name} has none ({_columns(tables)})" if kind in tables else "it is not there"
        raise InputError(f"{name}: task {task!r} needs a column 'label' in {kind}, and {known}")
    if task in ("link", "subgraph") and len(number := _graph_count(tables)) > 1:
        raise InputError(f"{name}: task {task!r} is for one graph, and there are {len(number)}: give one of them")
    return task


def _unused(tables: Tables, task: Task) -> Iterator[str]:
    for kind, table in tables.items():
        if kind == LABELLED_IN[task]:
            continue
        if kind in ("links", "subgraphs"):
            yield f"{table.name} is not used, since the task is {task!r}"
        elif named := [column for column in ("label", "split") if column in table.columns]:
            yield f"{table.name}: {' and '.join(named)} not used, since the task is {task!r}"


def _graph_count(tables: Tables) -> set[object]:
    if "nodes" not in tables or "graph" not in tables["nodes"].columns:
        return {0}
    return set(tables["nodes"].columns["graph"])


def _columns(tables: Tables) -> str:
    listed = [f"{kind}: {', '.join(tables[kind].columns)}" for kind in ("nodes", "graphs") if kind in tables]
    return "; ".join(listed) or "there is neither nodes.csv nor graphs.csv"


def _ask_nodes(
    name: str, tables: Tables, nodes: Nodes, edges: Edges, seed: int, scheme: Mapping[str, Any] | None
) -> Asked:
    ids = nodes.ids
    if nodes.scoped:
        ids = tuple(f"{nodes.graphs[graph]}/{id_}" for graph, id_ in zip(nodes.graph.tolist(), ids, strict=True))
    everything = _everything(nodes, edges)
    if "nodes" not in tables:
        return replace(everything, ids=ids)
    asked = _answered(tables["nodes"], everything, "node", seed, scheme, nodes.rows)
    asked = replace(asked, ids=ids)
    if not asked.split:
        return asked
    train = _mask(asked.split["train"], len(ids))
    return replace(asked, train_nodes=train, train_edges=train[edges.pairs[0]] | train[edges.pairs[1]])


def _ask_graphs(
    name: str, tables: Tables, nodes: Nodes, edges: Edges, seed: int, scheme: Mapping[str, Any] | None
) -> Asked:
    everything = replace(_everything(nodes, edges), ids=nodes.graphs)
    if "graphs" not in tables:
        return everything
    asked = _answered(tables["graphs"], everything, "graph", seed, scheme)
    if not asked.split:
        return asked
    train = _mask(asked.split["train"], len(nodes.graphs))[nodes.graph]
    return replace(asked, train_nodes=train, train_edges=train[edges.pairs[0]])


def _ask_subgraphs(
    name: str, tables: Tables, nodes: Nodes, edges: Edges, seed: int, scheme: Mapping[str, Any] | None
) -> Asked:
    table = tables["subgraphs"]
    if scheme is None and "label" not in table.columns:
        raise InputError(f"{table.name} has no column 'label': say what is to be learnt of each subgraph")
    ids = names(table, "id")
    sets, twice = [], 0
    for row, listed in enumerate(table.text("nodes")):
        listed_ids = listed.split()
        if not listed_ids:
            raise InputError(f"{table.place(row)}: subgraph {ids[row]!r} has no nodes: list them, with spaces between")
        found = [nodes.index.get(member) for member in listed_ids]
        if None in found:
            raise nodes.unknown(listed_ids[found.index(None)], f"{table.place(row)}: nodes")
        different = dict.fromkeys(found)
        twice += len(found) - len(different)
        sets.append(list(different))
    members = Members(offsets(torch.tensor([len(s) for s in sets])), torch.tensor([node for s in sets for node in s]))
    everything = replace(_everything(nodes, edges), ids=tuple(ids), members=members)
    asked = _answered(table, everything, "subgraph", seed, scheme)
    if twice:
        asked = replace(asked, notes=(*asked.notes, f"{twice} node(s) listed twice in a subgraph count once"))
    if not asked.split:
        return asked
    train = _mask(members.select(asked.split["train"])[0], len(nodes.ids))
    return replace(asked, train_nodes=train, train_edges=train[edges.pairs[0]] | train[edges.pairs[1]])


def _ask_links(
    name: str, tables: Tables, nodes: Nodes, edges: Edges, seed: int, scheme: Mapping[str, Any] | None
) -> Asked:
    everything = _everything(nodes, edges)
    table = tables.get("links")
    if scheme is not None:
        if table is None:
            raise InputError(f"{name}: list the pairs whose links are to be predicted in links.csv (source,target)")
        pairs = read_pairs(table, nodes)
        members = Members(2 * torch.arange(table.rows + 1), torch.from_numpy(pairs.T.reshape(-1).copy()))
        return replace(everything, members=members)
    if table is None:
        links, notes = split_edges(edges.pairs, len(nodes.ids), FRACTIONS["link"], seed, tables["edges"].name)
    else:
        links, notes = split_table(table, nodes, edges.pairs, FRACTIONS["link"], seed)
    name = "own" if table is not None and "split as the files say" in notes else "random"
    kept = in_training(edges.pairs, links, len(nodes.ids))
    return replace(everything, train_edges=kept, links=links, split_name=name, notes=tuple(notes))


_ASK = {"node": _ask_nodes, "graph": _ask_graphs, "subgraph": _ask_subgraphs, "link": _ask_links}


def _everything(nodes: Nodes, edges: Edges) -> Asked:
    return Asked(np.ones(len(nodes.ids), dtype=bool), np.ones(edges.pairs.shape[1], dtype=bool))


def _answered(
    table: Table,
    asked: Asked,
    task: Task,
    seed: int,
    scheme: Mapping[str, Any] | None,
    rows: NDArray[np.int64] | None = None,
) -> Asked:
    """With the labels and the split that are in a table, whose rows are the targets (or `rows` are, in this order)."""
    if "label" not in table.columns:
        return asked
    if rows is not None and (rows[1:] < rows[:-1]).any():
        table = table.taken(rows)
    answers = read_labels(table, scheme)
    if scheme is not None:
        return replace(asked, answers=answers, notes=answers.notes) if answers.known.any() else asked
    if not answers.known.any():
        raise InputError(f"{table.name}: the column 'label' is blank throughout: label some")
    split, split_name, notes = read_split(table, answers.known, FRACTIONS[task], seed)
    return replace(asked, answers=answers, split=split, split_name=split_name, notes=(*answers.notes, *notes))


def _features(
    table: Table | None, train: Bools, model: Mapping[str, Any] | None, kind: Kind, notes: list[str]
) -> tuple[columns.Scheme, NDArray[np.float32] | None]:
    """The scheme of a table's features, learnt unless there is a model's, and the features by row."""
    found = {} if table is None else table.features
    place = table.place if table is not None else "row {}".format
    if model is not None:
        scheme: columns.Scheme = model[kind]
    else:
        scheme = columns.fit(found, train, place, {} if table is None else table.forced)
        notes += columns.described(scheme, kind)
    where = kind if table is None else table.name
    values, told = columns.encode(found, scheme, place, where)
    notes += told
    return scheme, values


def _graphs(
    nodes: Nodes,
    edges: Edges,
    asked: Asked,
    x: NDArray[np.float32] | None,
    edge_attr: NDArray[np.float32] | None,
    weights: NDArray[np.float64] | None,
) -> Graphs:
    kept = asked.train_edges if asked.links is not None else np.ones(edges.pairs.shape[1], dtype=bool)
    starts = np.cumsum(nodes.sizes) - nodes.sizes
    graph = nodes.graph[edges.pairs[0, kept]]
    graphs = undirected(
        nodes.sizes,
        np.bincount(graph, minlength=len(nodes.sizes)),
        edges.pairs[:, kept] - starts[graph],
        x=None if x is None else x[nodes.rows],
        edge_attr=None if edge_attr is None else edges.mean(edge_attr)[kept],
    )
    if weights is None:
        return graphs
    weight = torch.from_numpy(edges.mean(weights[:, None])[kept, 0])
    return replace(graphs, edge_weight=weight.repeat_interleave(2))


def _kept(scheme: Mapping[str, Any] | None, key: str, answers: Answers | None) -> tuple[str, ...]:
    if scheme is not None:
        return tuple(scheme[key])
    if answers is None:
        return ()
    return answers.classes if key == "classes" else answers.outputs


def _metric(task: Task, answers: Answers | None) -> str:
    if task == "link":
        return "roc_auc"
    if answers is None or answers.classes:
        return "accuracy"
    return "micro_f1" if answers.multilabel else "mae"


def _mask(targets: Tensor, count: int) -> Bools:
    mask = np.zeros(count, dtype=bool)
    mask[targets.numpy()] = True
    return mask

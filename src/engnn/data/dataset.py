"""What a dataset is: graphs stored end to end, what is asked of them, the answers, and an honest split.

Every source in `engnn.data`, named or the user's own, makes one `Dataset`; every task takes one. Nothing here reads a
file and nothing here trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

Task = Literal["node", "link", "subgraph", "graph"]
Provenance = Literal["original", "rebuilt", "substitute", "generated", "own"]
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Graphs:
    """One graph or many, stored end to end, so that a batch of any of them is a few index operations.

    Edges are directed entries: an undirected edge is there twice. Node ids count from 0 within each graph. Features
    are floats (node features may be a sparse COO tensor, where a dense one would be large), or, where `x_levels` is
    given, integer codes of which column `j` has `x_levels[j]` levels; a batch always gives dense floats (codes become
    one-hot blocks beside one another).

    >>> g = Graphs(torch.tensor([2, 3]), torch.tensor([2, 2]), torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]]))
    >>> b = g.batch(torch.tensor([1, 0]))
    >>> b.num_nodes, b.edge_index.tolist(), b.batch.tolist()
    (5, [[0, 2, 3, 4], [2, 0, 4, 3]], [0, 0, 0, 1, 1])
    """

    num_nodes: Tensor  # [G] int64
    num_edges: Tensor  # [G] int64, entries of edge_index
    edge_index: Tensor  # [2, m] integer
    x: Tensor | None = None  # [n, d] float, or [n, k] integer codes
    x_levels: tuple[int, ...] = ()
    edge_attr: Tensor | None = None  # [m, e] float, or [m, k] integer codes
    edge_levels: tuple[int, ...] = ()
    edge_weight: Tensor | None = None  # [m] float
    node_ptr: Tensor = field(init=False, repr=False)  # [G + 1]
    edge_ptr: Tensor = field(init=False, repr=False)  # [G + 1]

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_ptr", offsets(self.num_nodes))
        object.__setattr__(self, "edge_ptr", offsets(self.num_edges))

    def __len__(self) -> int:
        return self.num_nodes.numel()

    @property
    def in_channels(self) -> int:
        """Width of the node features that a batch gives."""
        return sum(self.x_levels) if self.x_levels else 0 if self.x is None else self.x.size(1)

    @property
    def x_size(self) -> float:
        """The root mean square of the node features that a batch gives; 1 where all are zero, or there are none."""
        if self.x is None or not self.x.numel():
            return 1.0
        values = self.x.coalesce().values() if self.x.is_sparse else self.x
        total = float(self.x.numel() if self.x_levels else values.double().square().sum())  # a code is a single one
        return (total / (self.x.size(0) * self.in_channels)) ** 0.5 or 1.0

    @property
    def edge_dim(self) -> int:
        """Width of the edge features that a batch gives."""
        return sum(self.edge_levels) if self.edge_levels else 0 if self.edge_attr is None else self.edge_attr.size(1)

    def batch(self, graphs: Tensor | None = None) -> Data:
        """The graphs numbered `graphs` (all when None) as one disconnected graph, in that order.

        The result has `x`, `edge_index`, `edge_attr`, `edge_weight`, `batch` (each node's place in `graphs`), `ptr`
        and `graph_id` (the numbers themselves, which key the noise).
        """
        if graphs is None:
            graphs = torch.arange(len(self))
        nodes, edges = self.num_nodes[graphs], self.num_edges[graphs]
        ptr = offsets(nodes)
        whole = len(graphs) == len(self) and bool((graphs == torch.arange(len(self))).all())
        node = slice(None) if whole else ranges(self.node_ptr[graphs], nodes)
        edge = slice(None) if whole else ranges(self.edge_ptr[graphs], edges)
        shift = torch.repeat_interleave(ptr[:-1], edges)
        return Data(
            x=_floats(self.x, node, self.x_levels),
            edge_index=self.edge_index[:, edge].long() + shift,
            edge_attr=_floats(self.edge_attr, edge, self.edge_levels),
            edge_weight=None if self.edge_weight is None else self.edge_weight[edge],
            num_nodes=int(ptr[-1]),
            batch=torch.repeat_interleave(torch.arange(len(graphs)), nodes),
            ptr=ptr,
            graph_id=graphs,
        )


@dataclass(frozen=True)
class Members:
    """Node sets of one graph, end to end: set `i` is `nodes[ptr[i]:ptr[i + 1]]`."""

    ptr: Tensor
    nodes: Tensor

    def __len__(self) -> int:
        return self.ptr.numel() - 1

    def select(self, sets: Tensor) -> tuple[Tensor, Tensor]:
        """The nodes of the sets numbered `sets`, and for each the place of its set in `sets`."""
        sizes = (self.ptr[1:] - self.ptr[:-1])[sets]
        return self.nodes[ranges(self.ptr[:-1][sets], sizes)], torch.repeat_interleave(torch.arange(len(sets)), sizes)


@dataclass(frozen=True)
class Links:
    """Pairs to be told from non-pairs, each undirected pair once.

    The dataset's graph holds the training edges only. Negatives are `[2, k]`, shared by all positives of the part, or
    `[2, p, k]`, `k` of them for each positive (ranking). Training negatives are drawn afresh each epoch by the task.
    """

    train: Tensor  # [2, p]
    valid: Tensor
    valid_negatives: Tensor
    test: Tensor
    test_negatives: Tensor
    test_message: Tensor | None = None  # edges that may carry messages when testing (ogbl-collab's validation edges)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Graphs, a task on them, its labels and its split.

    The targets are numbered end to end: the nodes of all graphs (`node`), the graphs (`graph`), or the sets of
    `members` (`subgraph`). `y[t]` is target `t`'s class (`[T]` int64, -1 where missing), or its values (`[T, K]` float,
    NaN where missing); `split` gives the targets of each part. A `link` dataset has `links` in place of both, or, where
    links are only to be predicted, the pairs in question as `members`.
    """

    name: str
    task: Task
    metric: str
    provenance: Provenance
    graphs: Graphs
    y: Tensor | None = None
    y_scale: tuple[Tensor, Tensor] | None = None  # mean and spread of y's columns: errors are told in these units
    split: Mapping[str, Tensor] = field(default_factory=dict)
    members: Members | None = None
    links: Links | None = None
    classes: tuple[str, ...] = ()  # names of the classes; none in regression and multi-label tasks
    outputs: tuple[str, ...] = ()  # names of the columns of y in regression and multi-label tasks
    multilabel: bool = False  # the columns of y are yes/no answers
    split_name: str = "random"
    ids: tuple[str, ...] = ()  # the user's own names of the targets, where they have any
    node_ids: tuple[str, ...] = ()  # the user's own names of the nodes, where the targets are links
    notes: tuple[str, ...] = ()  # what was done to the data, in words for the user
    source: str = ""
    licence: str = ""
    scheme: Mapping[str, Any] | None = None  # how the user's columns became features (JSON), saved with the model

    def with_split(self, split: Mapping[str, Tensor], name: str) -> Dataset:
        """The same dataset under another split."""
        return replace(self, split=split, split_name=name)


def offsets(sizes: Tensor) -> Tensor:
    """Where each of several runs starts, and where the last ends.

    >>> offsets(torch.tensor([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def ranges(start: Tensor, size: Tensor) -> Tensor:
    """The runs `start[i], start[i] + 1, …` of length `size[i]`, one after another.

    >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shift = start - offsets(size)[:-1]
    return torch.repeat_interleave(shift, size) + torch.arange(int(size.sum()))


def _floats(values: Tensor | None, rows: Tensor | slice, levels: tuple[int, ...]) -> Tensor | None:
    if values is None:
        return None
    if values.is_sparse:
        values = (values if isinstance(rows, slice) else values.index_select(0, rows)).to_dense()
    else:
        values = values[rows]
    if not levels:
        return values.float()
    column = values.long() + offsets(torch.tensor(levels))[:-1]
    return torch.zeros(len(values), sum(levels)).scatter_(1, column, 1.0)

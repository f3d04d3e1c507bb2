"""Many sets at once: sums over the elements of each, and what a set knows given back to its elements.

Every sum of the paper is one of these: over the nodes of each graph, the neighbours of each node, or the nodes of each
target.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from engnn.kernels import Adjacency, neighbour_sum

Level = Literal["node", "link", "subgraph", "graph"]


class Sets(NamedTuple):
    """`num` sets of elements: element `i` is in set `owner[i]`."""

    owner: Tensor  # [k]
    num: int
    sizes: Tensor  # [num], how many elements each has

    @classmethod
    def of(cls, owner: Tensor, num: int | None = None) -> Sets:
        """Sets given by the set of each element. Pass `num`, or sets at the end that have no element are not seen.

        >>> Sets.of(torch.tensor([0, 0, 2]), 4).sizes.tolist()
        [2, 0, 1, 0]
        """
        if num is None:
            num = 1 + int(owner.max()) if owner.numel() else 0
        return cls(owner, num, owner.new_zeros(num).index_add_(0, owner, torch.ones_like(owner)))

    @classmethod
    def given(cls, owner: Tensor | Sets | None, num: int | None, elements: Tensor) -> Sets:
        """Sets in whatever way a caller has given them; None is all the elements (rows of a tensor) in one set."""
        if isinstance(owner, Sets):
            return owner
        if owner is not None:
            return cls.of(owner, num)
        owner = torch.zeros(elements.size(0), dtype=torch.long, device=elements.device)
        return cls(owner, 1, torch.full((1,), elements.size(0), device=elements.device))

    def sum(self, values: Tensor) -> Tensor:
        """Σ over the elements of each set: `[k, …]` → `[num, …]`."""
        if self.num == 1:
            return values.sum(0, keepdim=True)
        wide = values.to(_wide(values))
        return wide.new_zeros(self.num, *wide.shape[1:]).index_add_(0, self.owner, wide).to(values.dtype)

    def spread(self, values: Tensor) -> Tensor:
        """Each element gets its set's value: `[num, …]` → `[k, …]`."""
        if self.num == 1:
            return values.expand(self.owner.size(0), *values.shape[1:])
        return values.index_select(0, self.owner)

    def column(self, like: Tensor) -> Tensor:
        """The sizes k, shaped to broadcast against `like`."""
        return self.sizes.to(_wide(like)).view(-1, *[1] * (like.dim() - 1))

    def scale(self, like: Tensor, typical: float) -> Tensor:
        """1 / max(τ, k): what a sum over k elements is multiplied by."""
        return self.column(like).clamp(min=typical).reciprocal().to(like.dtype)


def _wide(values: Tensor) -> torch.dtype:
    """At least single precision: half counts to 2¹¹ and bfloat16 to 2⁸ only."""
    return torch.promote_types(values.dtype, torch.float32)


class Neighbours(NamedTuple):
    """The neighbours `j ∈ N(i)` of every node `i`: entry `e` makes `source[e]` a neighbour of node `of.owner[e]`."""

    source: Tensor  # [m]
    of: Sets
    edges: Adjacency

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int) -> Neighbours:
        """Neighbourhoods of a PyG `edge_index`, whose entries go from row 0 to row 1."""
        source, target = edge_index
        edges = Adjacency.of(source, target, num_nodes)
        return cls(source, Sets(target, num_nodes, edges.pointer.diff()), edges)

    def sum(self, values: Tensor, scale: Tensor | None = None) -> Tensor:
        """scale[i] · Σ_{j ∈ N(i)} values_j: `[n, …]` → `[n, …]`."""
        return neighbour_sum(values, self.edges, scale)


class Shared(NamedTuple):
    """Values that all the elements of a set have in common, not yet spread over them."""

    values: Tensor  # [num, …]
    sets: Sets


class Targets(NamedTuple):
    """Sets of nodes: `nodes[i]` belongs to set `sets.owner[i]`, which lies in graph `graph[sets.owner[i]]`."""

    nodes: Tensor
    sets: Sets
    graph: Tensor


def count_nodes(edge_index: Tensor, num_nodes: int | None, *rows: object) -> int:
    """How many nodes there are: as many as rows of the first tensor given, else as was said, else as the edges name.

    >>> count_nodes(torch.tensor([[0], [3]]), None), count_nodes(torch.tensor([[0], [3]]), None, None, torch.ones(9, 1))
    (4, 9)
    """
    for known in rows:
        if isinstance(known, Tensor):
            return known.size(0)
    if num_nodes is not None:
        return num_nodes
    return 1 + int(edge_index.max()) if edge_index.numel() else 0


def as_targets(level: Level, targets: Any, batch: Tensor) -> Targets | None:
    """What a user gives as targets, as sets of nodes; see `ENGNN.forward` for what each level takes."""
    if level == "graph":
        if targets is not None:
            raise ValueError("a model of level 'graph' answers for every graph and takes no targets")
        return None
    if level == "subgraph":
        if not isinstance(targets, tuple) or len(targets) not in (2, 3):
            raise ValueError("a model of level 'subgraph' needs targets=(nodes, index) or (nodes, index, number)")
        nodes, index = targets[:2]
        sets = Sets.of(index, targets[2] if len(targets) == 3 else None)
        return Targets(nodes, sets, batch.new_zeros(sets.num).index_copy_(0, index, batch[nodes]))
    if level == "link":
        if targets is None or targets.dim() != 2 or targets.size(0) != 2:
            raise ValueError("a model of level 'link' needs targets of shape [2, T], one pair a column")
        pair = torch.arange(targets.size(1), device=batch.device)
        return Targets(targets.flatten(), Sets(pair.repeat(2), len(pair), torch.full_like(pair, 2)), batch[targets[0]])
    nodes = torch.arange(batch.size(0), device=batch.device) if targets is None else targets
    if nodes.dtype == torch.bool:
        nodes = nodes.nonzero().flatten()
    each = torch.arange(nodes.size(0), device=batch.device)
    return Targets(nodes, Sets(each, len(each), torch.ones_like(each)), batch[nodes])

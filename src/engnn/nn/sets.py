"""Many sets at once: sums over the elements of each, and what a set knows given back to its elements.

Every sum of the paper is one of these: over the nodes of each graph, the neighbours of each node, or the nodes of each
target.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


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
    def one(cls, elements: Tensor) -> Sets:
        """All the elements (rows) of a tensor in one set."""
        owner = torch.zeros(elements.size(0), dtype=torch.long, device=elements.device)
        return cls(owner, 1, torch.full((1,), elements.size(0), device=elements.device))

    def sum(self, values: Tensor) -> Tensor:
        """Σ over the elements of each set: `[k, …]` → `[num, …]`."""
        if self.num == 1:
            return values.sum(0, keepdim=True)
        return values.new_zeros(self.num, *values.shape[1:]).index_add_(0, self.owner, values)

    def spread(self, values: Tensor) -> Tensor:
        """Each element gets its set's value: `[num, …]` → `[k, …]`."""
        if self.num == 1:
            return values.expand(self.owner.size(0), *values.shape[1:])
        return values.index_select(0, self.owner)


class Neighbours(NamedTuple):
    """The neighbours `j ∈ N(i)` of every node `i`: entry `e` makes `source[e]` a neighbour of node `of.owner[e]`."""

    source: Tensor  # [m]
    of: Sets

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int) -> Neighbours:
        """Neighbourhoods of a PyG `edge_index`, whose entries go from row 0 to row 1."""
        return cls(edge_index[0], Sets.of(edge_index[1], num_nodes))

    def gather(self, values: Tensor) -> Tensor:
        """The value of the neighbour, for each entry: `[n, …]` → `[m, …]`."""
        return values.index_select(0, self.source)

    def sum(self, values: Tensor) -> Tensor:
        """Σ_{j ∈ N(i)} values_j: `[n, …]` → `[n, …]`."""
        return self.of.sum(self.gather(values))


class Shared(NamedTuple):
    """Values that all the elements of a set have in common, not yet spread over them."""

    values: Tensor  # [num, …]
    sets: Sets

"""What is near each of several roots, as one graph whose nodes are pairs of a root and a node near it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class EgoNets(NamedTuple):
    """Pairs `[P]`, sorted by root and node, and the edges between pairs of one root."""

    root: Tensor
    node: Tensor
    distance: Tensor
    edge_index: Tensor
    edge: Tensor  # of each edge here, its place among the edges of the graphs


def ego_nets(edge_index: Tensor, n: int, hops: int, start: Tensor | None = None) -> EgoNets:
    """All nodes within `hops` steps of each root, and the edges among them.

    Roots are all nodes, or, given `start`, whatever: sets of nodes, as numbers `root * n + node`, each once.

    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> nets = ego_nets(path, 3, 1)
    >>> list(zip(nets.root.tolist(), nets.node.tolist()))
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    """
    edges = _Edges(edge_index, n)
    codes, distance = _near(edges, hops, start)
    pair, place = edges.of(codes)
    wanted = codes[pair] // n * n + edges.target[place]
    found = torch.searchsorted(codes, wanted).clamp(max=max(0, len(codes) - 1))
    inside = codes[found] == wanted
    return EgoNets(
        codes // n,
        codes % n,
        distance,
        torch.stack([pair[inside], found[inside]]),
        edges.order[place[inside]],
    )


def near(edge_index: Tensor, n: int, hops: int) -> tuple[Tensor, Tensor]:
    """The pairs `[2, P]` of a root and a node within `hops` steps of it, and how many steps that is.

    >>> near(torch.tensor([[0, 1], [1, 2]]), 3, 2)
    (tensor([[0, 0, 0, 1, 1, 2],
            [0, 1, 2, 1, 2, 2]]), tensor([0, 1, 2, 0, 1, 0]))
    """
    codes, distance = _near(_Edges(edge_index, n), hops)
    return torch.stack([codes // n, codes % n]), distance


def two_steps(edge_index: Tensor, n: int) -> Tensor:
    """All walks of two edges, each as the number first * n + last.

    >>> two_steps(torch.tensor([[0, 1, 1], [1, 0, 2]]), 3).tolist()
    [0, 2, 4]
    """
    edges = _Edges(edge_index, n)
    codes = edge_index[0] * n + edge_index[1]
    pair, place = edges.of(codes)
    return codes[pair] // n * n + edges.target[place]


def crowded(edge_index: Tensor, n: int) -> bool:
    """Whether there are more walks of two edges than pairs of nodes, so that a matrix of all pairs takes less.

    >>> crowded(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3), crowded(torch.ones(3, 3).nonzero().T, 3)
    (False, True)
    """
    return bool(torch.bincount(edge_index[0], minlength=n)[edge_index[1]].sum() > n * n)


def matrix(edge_index: Tensor, n: int, like: Tensor) -> Tensor:
    """The number of edges from each node to each, `[n, n]`.

    >>> matrix(torch.tensor([[0, 0], [1, 1]]), 2, torch.ones(1))
    tensor([[0., 2.],
            [0., 0.]])
    """
    return like.new_zeros(n, n).index_put(tuple(edge_index), like.new_ones(()), accumulate=True)


class _Edges:
    """Edges by the node that they leave; a pair (root, node) is the number root * n + node."""

    def __init__(self, edge_index: Tensor, n: int) -> None:
        self.n, self.order = n, torch.argsort(edge_index[0], stable=True)
        self.target = edge_index[1, self.order]
        self.degree = torch.bincount(edge_index[0], minlength=n)
        self.first = self.degree.cumsum(0) - self.degree

    def of(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """The edges of each pair's node: the place of the pair, and the place of the edge."""
        count = self.degree[codes % self.n]
        pair = torch.repeat_interleave(torch.arange(len(codes), device=codes.device), count)
        place = torch.arange(len(pair), device=codes.device) - (count.cumsum(0) - count)[pair]
        return pair, self.first[codes[pair] % self.n] + place


def _near(edges: _Edges, hops: int, start: Tensor | None = None) -> tuple[Tensor, Tensor]:
    n = edges.n
    codes = torch.arange(n, device=edges.target.device) * (n + 1) if start is None else start
    distance, last = torch.zeros_like(codes), codes
    for hop in range(1, hops + 1):
        pair, place = edges.of(last)
        reached = torch.unique(last[pair] // n * n + edges.target[place])
        last = reached[~torch.isin(reached, codes)]
        codes = torch.cat([codes, last])
        distance = torch.cat([distance, torch.full_like(last, hop)])
    codes, sort = codes.sort()
    return codes, distance[sort]

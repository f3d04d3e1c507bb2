"""The ego nets of all nodes of some graphs, as one graph whose nodes are pairs of a root and a node near it."""

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


def ego_nets(edge_index: Tensor, n: int, hops: int) -> EgoNets:
    """All nodes within `hops` steps of each root, and the edges among them.

    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> nets = ego_nets(path, 3, 1)
    >>> list(zip(nets.root.tolist(), nets.node.tolist()))
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    """
    order = torch.argsort(edge_index[0], stable=True)
    target = edge_index[1, order]
    degree = torch.bincount(edge_index[0], minlength=n)
    first = degree.cumsum(0) - degree

    def steps(codes: Tensor) -> tuple[Tensor, Tensor]:
        """Each pair's edges: the place of the pair, and the place of the edge in `order`."""
        count = degree[codes % n]
        pair = torch.repeat_interleave(torch.arange(len(codes), device=codes.device), count)
        place = torch.arange(len(pair), device=codes.device) - (count.cumsum(0) - count)[pair]
        return pair, first[codes[pair] % n] + place

    codes = torch.arange(n, device=edge_index.device) * (n + 1)
    distance = torch.zeros_like(codes)
    last = codes
    for hop in range(1, hops + 1):
        pair, place = steps(last)
        near = torch.unique(last[pair] // n * n + target[place])
        last = near[~torch.isin(near, codes)]
        codes = torch.cat([codes, last])
        distance = torch.cat([distance, torch.full_like(last, hop)])
    codes, sort = codes.sort()
    pair, place = steps(codes)
    wanted = codes[pair] // n * n + target[place]
    found = torch.searchsorted(codes, wanted).clamp(max=len(codes) - 1) if len(codes) else wanted
    inside = codes[found] == wanted
    return EgoNets(
        codes // n,
        codes % n,
        distance[sort],
        torch.stack([pair[inside], found[inside]]),
        order[place[inside]],
    )

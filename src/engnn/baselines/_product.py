"""A sparse matrix times a dense one, for the baselines that are polynomials of a matrix."""

from __future__ import annotations

from torch import Tensor


def product(edge_index: Tensor, weight: Tensor, h: Tensor) -> Tensor:
    """Row i of the result is the sum of `weight * h[j]` over the edges (j, i).

    >>> import torch
    >>> product(torch.tensor([[0, 1], [1, 1]]), torch.tensor([2.0, 3.0]), torch.tensor([[1.0], [10.0]])).tolist()
    [[0.0], [32.0]]
    """
    source, target = edge_index
    return h.new_zeros(h.shape).index_add(0, target, weight[:, None] * h[source])

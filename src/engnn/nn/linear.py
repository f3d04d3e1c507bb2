"""Linears and MLPs over a concatenation, split over its parts so that it is never built."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import reset

from engnn import kernels
from engnn.parts import Part, Pending, rows


class Module(nn.Module):
    """A module whose parameters are those of its children."""

    def reset_parameters(self) -> None:
        for child in self.children():
            reset(child)


class SplitLinear(nn.Module):
    """W (a ‖ b ‖ …) + bias, computed as W_a a + W_b b + … + bias.

    >>> lin = SplitLinear([2, 3], 4)
    >>> a, b = torch.randn(5, 2), torch.randn(5, 3)
    >>> torch.allclose(lin(a, b), F.linear(torch.cat([a, b], -1), lin.weight, lin.bias), atol=1e-6)
    True
    """

    def __init__(self, in_channels: Sequence[int], out_channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels = list(in_channels), out_channels
        self.weight = nn.Parameter(torch.empty(out_channels, sum(in_channels)))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Parts of unit variance give an output of unit variance, in which all have the same share, however wide."""
        parts = sum(width > 0 for width in self.in_channels)
        for weight in torch.split(self.weight.detach(), self.in_channels, dim=1):
            bound = (3 / max(1, parts * weight.size(1))) ** 0.5
            nn.init.uniform_(weight, -bound, bound)
        if self.bias is not None:
            bound = max(1, sum(self.in_channels)) ** -0.5
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, *parts: Part) -> Tensor:
        return kernels.product(rows(parts, self.weight, self.bias))

    def of(self, first: int, last: int | None = None) -> Tensor:
        """The weight's columns for some of the parts."""
        ends = [0, *accumulate(self.in_channels)]
        return self.weight[:, ends[first] : ends[len(self.in_channels) if last is None else last]]

    def extra_repr(self) -> str:
        return f"{' ‖ '.join(map(str, self.in_channels))} -> {self.out_channels}, bias={self.bias is not None}"


class MLP(Module):
    """Linear, activation, Linear, over a concatenation of parts."""

    def __init__(self, in_channels: Sequence[int], hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin1 = SplitLinear(in_channels, hidden_channels)
        self.lin2 = nn.Linear(hidden_channels, out_channels)

    def forward(self, *parts: Part) -> Tensor:
        lin1, lin2 = self.lin1, self.lin2
        return kernels.linear(rows(parts, lin1.weight, lin1.bias), lin2.weight, lin2.bias)

    def pending(self, *parts: Part) -> Pending:
        """The MLP but for its last Linear."""
        return Pending(rows(parts, self.lin1.weight, self.lin1.bias), self.lin2)


def activation(values: Tensor) -> Tensor:
    """The activation of every MLP here, and of `engnn.kernels`."""
    return F.relu(values)

"""GLASS knows which nodes are asked for, which pooling afterwards does not."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.gin import GIN
from engnn.baselines.glass import GLASS, WEIGHT


def subgraphs(*nodes: list[int]) -> tuple[Tensor, Tensor, int]:
    index = torch.arange(len(nodes)).repeat_interleave(torch.tensor([len(one) for one in nodes]))
    return torch.tensor([node for one in nodes for node in one]), index, len(nodes)


def test_it_tells_joined_nodes_from_others_where_all_nodes_look_alike(edges: Callable[..., Tensor]) -> None:
    ring = edges(nx.cycle_graph(8))
    joined, apart = subgraphs([0, 1]), subgraphs([0, 4])
    model = GLASS(0, 8, 2, 2, level="subgraph").double().eval()
    gin = GIN(0, 8, 2, 2, level="subgraph").double().eval()
    torch.testing.assert_close(gin(None, ring, targets=joined), gin(None, ring, targets=apart))
    assert (model(None, ring, targets=joined) - model(None, ring, targets=apart)).abs().max() > 1e-3


@pytest.mark.parametrize("shape", ["hubs", "ring"])
@pytest.mark.parametrize("layers", [1, 2, 3, 4, 5])
def test_it_is_its_equation_on_the_whole_graph(
    layers: int, shape: str, graph: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    """Though it computes only what is near; in a ring, what is far stays so for many layers."""
    graph = {"hubs": graph, "ring": nx.cycle_graph(30)}[shape]
    model = GLASS(3, 8, 2, layers, level="subgraph").double().eval()
    x = torch.randn(len(graph), 3, dtype=torch.double)
    a = torch.tensor(nx.to_numpy_array(graph))

    def mixed(sides: torch.nn.ModuleList, x: Tensor, label: Tensor) -> Tensor:
        rows = []
        for row, marked in zip(x, label, strict=True):
            zero, one = sides[0](row), sides[1](row)
            rows.append(WEIGHT * one + (1 - WEIGHT) * zero if marked else (1 - WEIGHT) * one + WEIGHT * zero)
        return torch.stack(rows)

    def answer(nodes: list[int]) -> Tensor:
        label = torch.zeros(len(graph), dtype=torch.bool)
        label[nodes] = True
        seen = [model.lin(x)]
        for layer in model.layers:
            mean = layer.norm((a / a.sum(1, keepdim=True)) @ mixed(layer.message, seen[-1], label).relu())
            seen.append(mixed(layer.update, torch.cat([seen[-1], mean], dim=1), label))
        return model.head(model.jump(torch.cat(seen, dim=1))[nodes].sum(0))

    expected = torch.stack([answer([3, 7]), answer([9, 3]), answer([0])])
    torch.testing.assert_close(model(x, edges(graph), targets=subgraphs([3, 7], [9, 3], [0])), expected)

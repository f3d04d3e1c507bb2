"""GCN is the product of matrices that its equation says, and sees no more than colour refinement."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.gcn import GCN


def test_it_is_its_equation(graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]) -> None:
    model = GCN(3, 8, 2, 2, level="node").double().eval()
    x = torch.randn(len(graph), 3, dtype=torch.double)
    one, two = model.gnn.convs
    hidden = (walk(graph, loops=True) @ x @ one.lin.weight.T + one.bias).relu()
    expected = walk(graph, loops=True) @ hidden @ two.lin.weight.T + two.bias
    torch.testing.assert_close(model(x, edges(graph)), expected)


def test_it_cannot_tell_a_hexagon_from_two_triangles_but_a_star_from_a_path(edges: Callable[..., Tensor]) -> None:
    model = GCN(0, 8, 2, 3, level="graph").double().eval()
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    torch.testing.assert_close(model(None, edges(hexagon)), model(None, edges(triangles)))
    star, path = model(None, edges(nx.star_graph(5))), model(None, edges(nx.path_graph(6)))
    assert (star - path).abs().max() > 1e-3

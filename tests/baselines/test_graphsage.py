"""GraphSAGE takes the mean over neighbours that its equation says, and so does not see how many there are."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.graphsage import GraphSAGE


def test_it_is_its_equation(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = GraphSAGE(3, 8, 2, 2, level="node").double().eval()
    x = torch.randn(len(graph), 3, dtype=torch.double)
    mean = torch.tensor(nx.to_numpy_array(graph))
    mean = mean / mean.sum(1, keepdim=True)
    one, two = model.gnn.convs
    hidden = (x @ one.lin_r.weight.T + mean @ x @ one.lin_l.weight.T + one.lin_l.bias).relu()
    expected = hidden @ two.lin_r.weight.T + mean @ hidden @ two.lin_l.weight.T + two.lin_l.bias
    torch.testing.assert_close(model(x, edges(graph)), expected)


def test_it_cannot_tell_a_ring_from_a_clique(edges: Callable[..., Tensor]) -> None:
    model = GraphSAGE(0, 8, 2, 3, level="graph").double().eval()
    torch.testing.assert_close(model(None, edges(nx.cycle_graph(6))), model(None, edges(nx.complete_graph(6))))

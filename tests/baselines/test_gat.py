"""GAT is the attention that its equation says, and does not see how many neighbours there are."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.gat import GAT


def test_it_is_its_equation(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = GAT(3, 8, 2, 2, level="node").double().eval()
    x = features = torch.randn(len(graph), 3, dtype=torch.double)
    joined = torch.tensor(nx.to_numpy_array(graph)) + torch.eye(len(graph)).double() > 0
    heads = []
    for conv in model.gnn.convs:
        h = (x @ conv.lin.weight.T).view(len(x), conv.heads, -1)
        to, of = ((h * a).sum(-1) for a in (conv.att_dst, conv.att_src))
        score = torch.nn.functional.leaky_relu(to[:, None] + of[None], 0.2).masked_fill(~joined[..., None], -torch.inf)
        heads.append(torch.einsum("ijh,jhd->ihd", score.softmax(1), h))
        x = (heads[-1].flatten(1) + conv.bias).relu() if len(heads) == 1 else heads[-1].mean(1) + conv.bias
    assert heads[0].shape[1:] == (8, 1)
    torch.testing.assert_close(model(features, edges(graph)), x)


def test_it_cannot_tell_a_ring_from_a_clique(edges: Callable[..., Tensor]) -> None:
    model = GAT(0, 8, 2, 3, level="graph").double().eval()
    torch.testing.assert_close(model(None, edges(nx.cycle_graph(6))), model(None, edges(nx.complete_graph(6))))

"""ChebyNet's layer is a polynomial of the Laplacian's eigenvalues."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

from engnn.baselines.chebynet import ChebyNet


def test_it_is_its_polynomial_of_the_eigenvalues(
    graph: nx.Graph, edges: Callable[..., Tensor], walk: Callable[..., Tensor]
) -> None:
    model = ChebyNet(3, 8, 2, 1, level="node").double().eval()
    x = torch.randn(len(graph), 3, dtype=torch.double)
    values, vectors = torch.linalg.eigh(-walk(graph, loops=False))  # of L − I
    (conv,) = model.convs
    angles = values.clamp(-1, 1).arccos()
    expected = sum(
        vectors @ ((term * angles).cos()[:, None] * (vectors.T @ x)) @ lin.weight.T
        for term, lin in enumerate(conv.lins)
    )
    torch.testing.assert_close(model(x, edges(graph)), expected + conv.bias)

"""PPGN multiplies pairs as its equation says, and sees what GIN does not."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.gin import GIN
from engnn.baselines.ppgn import MOST, PPGN
from engnn.errors import InputError

PAIRS = {
    "a hexagon and two triangles": (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    "a cube and a Moebius ladder": (nx.circular_ladder_graph(4), nx.circulant_graph(8, [1, 4])),
}


@pytest.fixture
def model() -> PPGN:
    torch.manual_seed(0)
    return PPGN(0, 16, 2, 3, level="graph").double().eval()


@pytest.mark.parametrize("pair", PAIRS)
def test_it_sees_a_difference_where_gin_cannot(pair: str, model: PPGN, edges: Callable[..., Tensor]) -> None:
    one, other = (edges(graph) for graph in PAIRS[pair])
    gin = GIN(0, 16, 2, 3, level="graph").double().eval()
    torch.testing.assert_close(gin(None, one), gin(None, other), atol=1e-13, rtol=0)
    assert (model(None, one) - model(None, other)).abs().max() > 1e-9


def test_it_learns_to_tell_apart_what_gin_cannot(told_apart: Callable[..., float]) -> None:
    pair = PAIRS["a hexagon and two triangles"]
    assert told_apart(PPGN(0, 16, 1, 2, level="graph").double(), *pair, copies=2) == 1.0
    assert told_apart(GIN(0, 16, 1, 2, level="graph").double(), *pair, copies=2) == 0.5


def test_it_cannot_tell_the_rook_graph_from_shrikhandes(
    model: PPGN, rook: nx.Graph, shrikhande: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    """No model below or at the folklore 2-dimensional test of Weisfeiler and Leman can, and this is one."""
    assert not nx.is_isomorphic(rook, shrikhande)
    assert sorted(dict(rook.degree).values()) == sorted(dict(shrikhande.degree).values()) == [6] * 16
    torch.testing.assert_close(model(None, edges(rook)), model(None, edges(shrikhande)), atol=1e-13, rtol=1e-13)


@pytest.mark.parametrize("length", [3, 4])
def test_it_learns_to_count_cycles_at_nodes(length: int, miscounted: Callable[[torch.nn.Module, int], float]) -> None:
    assert miscounted(PPGN(0, 16, 1, 3, level="node").double(), length) < 0.3 * miscounted(
        GIN(0, 16, 1, 3, level="node").double(), length
    )


def test_it_is_its_equation(graph: nx.Graph, edges: Callable[..., Tensor]) -> None:
    model = PPGN(2, 4, 3, 1, level="node").double().eval()
    n = 7
    small = graph.subgraph(range(n))
    x = torch.randn(n, 2, dtype=torch.double)
    a, eye = torch.tensor(nx.to_numpy_array(small, nodelist=range(n))), torch.eye(n).double()
    pairs = [[torch.cat([a[i, j][None], eye[i, j][None], eye[i, j] * x[i]]) for j in range(n)] for i in range(n)]
    (block,) = model.blocks

    def entry(i: int, j: int) -> Tensor:
        m = sum(block.left(pairs[i][k]) * block.right(pairs[k][j]) for k in range(n))
        return block.skip(torch.cat([pairs[i][j], m]))

    rows = [torch.cat([entry(i, i), sum(entry(i, j) for j in range(n))]) for i in range(n)]
    torch.testing.assert_close(model(x, edges(small)), model.lin(torch.stack(rows)))


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match=f"{MOST + 1} nodes"):
        PPGN(0, 4, 1, 1, level="graph")(None, torch.tensor([[0], [MOST]]))


def test_data_of_graphs_that_are_too_large_are_refused_before_anything_is_made() -> None:
    with pytest.raises(InputError, match=f"{MOST + 1} nodes"):
        PPGN(0, 4, 1, 1, level="node", typical=MOST + 1)

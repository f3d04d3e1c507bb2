"""ID-GNN knows the cycles that a node is on, which GIN does not."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor

from engnn.baselines.gin import GIN
from engnn.baselines.id_gnn import IDGNN

PAIRS = {
    "a hexagon and two triangles": (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    "a cube and a Moebius ladder": (nx.circular_ladder_graph(4), nx.circulant_graph(8, [1, 4])),
}


@pytest.fixture
def model() -> IDGNN:
    torch.manual_seed(0)
    return IDGNN(0, 16, 2, 3, level="graph").double().eval()


@pytest.mark.parametrize("pair", PAIRS)
def test_it_learns_to_tell_apart_what_gin_cannot(pair: str, told_apart: Callable[..., float]) -> None:
    assert told_apart(IDGNN(0, 8, 1, 4, level="graph").double(), *PAIRS[pair], copies=2) == 1.0
    assert told_apart(GIN(0, 8, 1, 4, level="graph").double(), *PAIRS[pair], copies=2) == 0.5


def test_it_cannot_tell_the_rook_graph_from_shrikhandes(
    model: IDGNN, rook: nx.Graph, shrikhande: nx.Graph, edges: Callable[..., Tensor]
) -> None:
    """No model below or at the folklore 2-dimensional test of Weisfeiler and Leman can, and this is one."""
    assert not nx.is_isomorphic(rook, shrikhande)
    assert sorted(dict(rook.degree).values()) == sorted(dict(shrikhande.degree).values()) == [6] * 16
    torch.testing.assert_close(model(None, edges(rook)), model(None, edges(shrikhande)))


@pytest.mark.parametrize("length", [3, 4])
def test_it_learns_to_count_cycles_at_nodes(length: int, miscounted: Callable[[torch.nn.Module, int], float]) -> None:
    assert miscounted(IDGNN(0, 16, 1, 4, level="node").double(), length) < 0.3 * miscounted(
        GIN(0, 16, 1, 4, level="node").double(), length
    )

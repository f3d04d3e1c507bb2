"""Every layer keeps every symmetry it promises, in values and gradients, on every graph that hypothesis thinks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from engnn import testing
from engnn.nn import ENGNN, ORTHOGONAL, PERMUTATION, DeepSet, ENConv, EquivariantAggregator, SubsetReadout
from engnn.sets import Sets, as_targets
from engnn.testing import (
    Case,
    assert_batch_consistent,
    assert_channel_equivariant,
    assert_edge_order_invariant,
    assert_node_equivariant,
    permutations,
    rotations,
)

D, L, E, K = 3, 2, 2, 2  # widths of x, z and edge_attr; nodes of a subgraph


@pytest.fixture(autouse=True, scope="module")
def one_trial() -> Iterator[None]:
    """One random order an example is enough: there are many examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "TRIALS", 1)
        yield


def make(
    sizes: list[int],
    edges: list[tuple[int, int, int]],
    channels: int = 3,
    *,
    seed: int = 0,
    constant: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Case:
    """A batch of graphs, nodes in mixed order; an edge (g, i, j) leads from i to j, modulo the size, in graph g."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.tensor([0, *sizes]).cumsum(0)
    n = int(first[-1])
    number = torch.randperm(n, generator=generator)
    batch = torch.empty(n, dtype=torch.long)
    batch[number] = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes, dtype=torch.long))
    ends = [(first[g] + i % sizes[g], first[g] + j % sizes[g]) for g, i, j in edges if sizes[g]]
    edge_index = number[torch.tensor(ends, dtype=torch.long).view(-1, 2).T]
    targets = [number[first[g] + torch.arange(i, i + K) % sizes[g]] for g, i, _ in edges if sizes[g] >= K]

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=dtype)

    def features(*shape: int) -> Tensor:
        return torch.ones(shape, dtype=dtype) if constant else random(*shape)

    return Case(
        x=features(n, D),
        z=random(n, channels, L),
        edge_index=edge_index,
        edge_attr=features(edge_index.size(1), E),
        batch=batch,
        size=len(sizes),
        targets=torch.stack(targets) if targets else torch.empty(0, K, dtype=torch.long),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Empty graphs, single nodes, isolated nodes, self-loops, duplicate and one-way edges, many components."""
    sizes = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4))
    ends = st.tuples(st.integers(0, len(sizes) - 1), st.integers(0, 6), st.integers(0, 6))
    edges = draw(st.lists(ends, max_size=20))
    edges += [(g, j, i) for g, i, j in edges] if draw(st.booleans()) else []
    dtype = draw(st.sampled_from([torch.float64, torch.float32]))
    seed, constant = draw(st.integers(0, 2**32)), draw(st.booleans())
    return make(sizes, edges, draw(st.integers(1, 5)), seed=seed, constant=constant, dtype=dtype)


CORNERS = [
    make([0], [], 1),  # nothing
    make([1], [], 1),  # one node, one channel
    make([1], [(0, 0, 0)], dtype=torch.float32),  # with a loop
    make([5], []),  # no edges
    make([6], [(0, 0, 1), (0, 1, 0), (0, 3, 4), (0, 4, 3)], constant=True),  # disconnected, all nodes alike
    make([2], [(0, 0, 1)] * 4 + [(0, 1, 0)] * 4),  # duplicates
    make([0, 3, 0, 1, 0], [(1, 0, 1), (1, 1, 2)], 2),  # empty graphs first, between and last
    make([0, 3, 0, 1, 0], [(1, 0, 1), (1, 1, 2)], 2, dtype=torch.float32),
]


def every_case(test: Callable[..., None]) -> Callable[..., None]:
    for corner in CORNERS:
        test = example(case=corner)(test)
    return given(case=cases())(settings(max_examples=6)(test))


GROUPS = {"permutation": (PERMUTATION, permutations), "orthogonal": (ORTHOGONAL, rotations)}


def holds(function: testing.Function, case: Case, outputs: list[str], symmetry: str) -> None:
    assert_node_equivariant(function, case, outputs)
    assert_edge_order_invariant(function, case, outputs)
    assert_batch_consistent(function, case, outputs)
    assert_channel_equivariant(function, case, outputs, group=permutations)
    if symmetry == "orthogonal":
        assert_channel_equivariant(function, case, outputs, group=rotations)


symmetries = pytest.mark.parametrize("symmetry", GROUPS)


def seeded(make_module: Callable[[], nn.Module], case: Case) -> nn.Module:
    torch.manual_seed(0)
    assert case.x is not None
    return make_module().to(case.x.dtype)


@every_case
def test_deep_set(case: Case) -> None:
    deep_set = seeded(lambda: DeepSet([D], 8, 5), case)

    def of_graphs(c: Case) -> Tensor:
        out: Tensor = deep_set(c.x, sets=Sets.of(c.batch, c.size))  # type: ignore[arg-type]
        return out

    assert_node_equivariant(of_graphs, case, "graph")
    assert_batch_consistent(of_graphs, case, "graph")


@symmetries
@every_case
def test_aggregator(symmetry: str, case: Case) -> None:
    aggregator = seeded(lambda: EquivariantAggregator(D, 8, L, 4, symmetry=GROUPS[symmetry][0]), case)
    holds(lambda c: aggregator(c.x, c.z, c.batch, c.size), case, ["node", "node channel"], symmetry)


@symmetries
@pytest.mark.parametrize("edge_dim", [None, E], ids=["plain", "edge features"])
@pytest.mark.parametrize("noise_messages", [True, False], ids=["noise messages", "as printed"])
@every_case
def test_conv(symmetry: str, edge_dim: int | None, noise_messages: bool, case: Case) -> None:
    make_conv = partial(ENConv, D, 8, L, 4, edge_dim=edge_dim, noise_messages=noise_messages)
    conv = seeded(lambda: make_conv(symmetry=GROUPS[symmetry][0]), case)

    def layer(c: Case) -> tuple[Tensor, Tensor]:
        x, z = conv(c.x, c.z, c.edge_index, None if edge_dim is None else c.edge_attr, c.batch, c.size)
        return x, z

    holds(layer, case, ["node", "node channel"], symmetry)


@symmetries
@pytest.mark.parametrize("whole", [True, False], ids=["graphs", "subsets"])
@every_case
def test_readout(symmetry: str, whole: bool, case: Case) -> None:
    readout = seeded(
        lambda: SubsetReadout(D, 8, 4, L, level="graph" if whole else "subgraph", symmetry=GROUPS[symmetry][0]), case
    )

    def answers(c: Case) -> Tensor:
        targets = None if whole else as_targets("subgraph", subgraphs(c), c.batch)  # type: ignore[arg-type]
        out: Tensor = readout(c.x, c.z, Sets.of(c.batch, c.size), targets)  # type: ignore[arg-type]
        return out

    holds(answers, case, ["graph" if whole else "target"], symmetry)


def subgraphs(case: Case) -> tuple[Tensor, Tensor, int]:
    assert case.targets is not None
    count = len(case.targets)
    return case.targets.flatten(), torch.arange(count).repeat_interleave(K), count


TARGETS: dict[str, Callable[[Case], object]] = {
    "node": lambda case: case.targets[:, 0],  # type: ignore[index]
    "link": lambda case: case.targets.T,  # type: ignore[union-attr]
    "subgraph": subgraphs,
    "graph": lambda case: None,
}


@pytest.mark.parametrize("level", TARGETS)
@pytest.mark.parametrize(
    ("symmetry", "features"),
    [("permutation", True), ("permutation", False), ("orthogonal", True)],
    ids=["permutation", "permutation, x=None", "orthogonal"],
)
@every_case
def test_model(symmetry: str, level: str, features: bool, case: Case) -> None:
    assert case.z is not None
    make_model = partial(ENGNN, D if features else 0, 8, 3, 2, noise_channels=case.z.size(1), noise_dim=4)
    options = {"noise": "normal+normal", "edge_dim": E if features else None, "symmetry": symmetry, "level": level}
    model = seeded(lambda: make_model(**options), case)  # type: ignore[arg-type]

    def answers(c: Case) -> Tensor:
        given = {"edge_attr": c.edge_attr if features else None, "batch": c.batch, "size": c.size}
        out: Tensor = model(c.x if features else None, c.edge_index, **given, noise=c.z, targets=TARGETS[level](c))
        return out

    holds(answers, case, ["graph" if level == "graph" else "target"], symmetry)


@pytest.mark.parametrize("noise", ["onehot+normal", "orthogonal"])
@every_case
def test_a_seed_gives_a_graph_the_same_answer_in_a_batch_and_alone(noise: str, case: Case) -> None:
    """With noise drawn inside: the graphs' names tell which."""
    assert case.batch is not None
    names = torch.randint(2**62, (case.size,), generator=torch.Generator().manual_seed(0))
    model = seeded(lambda: ENGNN(D, 8, 3, 2, noise_channels=3, noise_dim=4, noise=noise), case)
    together = model(case.x, case.edge_index, batch=case.batch, size=case.size, noise=5, graph_id=names)
    tolerance = testing.TOLERANCE[together.dtype]
    for graph in range(case.size):
        node, edge = case.batch == graph, case.batch[case.edge_index[0]] == graph
        number = node.cumsum(0) - 1
        alone = {"batch": torch.zeros_like(case.batch[node]), "size": 1, "graph_id": names[graph : graph + 1]}
        out = model(case.x[node], number[case.edge_index[:, edge]], noise=5, **alone)  # type: ignore[index]
        torch.testing.assert_close(out[0], together[graph], rtol=tolerance, atol=tolerance)

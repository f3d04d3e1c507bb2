"""Section "Expressivity" of the paper, for models with random weights: what they tell apart, and what they must not.

Statistical tests are at LEVEL, with fixed seeds: a test that passes once passes always. Where the noise takes few
values (marks and colourings), expectations are not estimated but summed over all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from engnn import noise
from engnn.nn import ENGNN, EquivariantAggregator

LEVEL = 1e-4
ROUNDING, DIFFERENT = 1e-13, 1e-8  # of the largest value
SEEDS = range(3)


def make(seed: int, channels: int, kind: str, *, width: int = 16, layers: int = 3, **options: object) -> ENGNN:
    torch.manual_seed(seed)
    model = partial(ENGNN, 0, width, 4, layers, noise_channels=channels, noise_dim=width // 2, noise=kind)
    return model(**options).double()  # type: ignore[arg-type]


def edges(graph: nx.Graph) -> Tensor:
    one_way = torch.tensor(list(graph.edges), dtype=torch.long).view(-1, 2).T
    return torch.cat([one_way, one_way.flip(0)], 1)


def shuffle(n: int, seed: int = 0) -> Tensor:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def answers(model: ENGNN, edge_index: Tensor, z: Tensor, targets: Tensor | None = None) -> Tensor:
    """The answers `[R, T, out]` for one graph, without features, under each of the noises `z` `[R, n, …]`."""
    count, n = z.shape[:2]
    starts = n * torch.arange(count)
    batch = torch.arange(count).repeat_interleave(n)
    options: dict[str, object] = {"batch": batch, "size": count, "noise": z.flatten(0, 1)}
    if targets is not None:  # [k, T], sets of k nodes
        many = (targets.T[None] + starts[:, None, None]).flatten(0, 1)
        options["targets"] = (many.flatten(), torch.arange(len(many)).repeat_interleave(len(targets)), len(many))
    with torch.no_grad():
        out: Tensor = model(None, (edge_index[:, None] + starts[:, None]).flatten(1), **options)
    return out.view(count, -1, out.size(-1))


def sampled(kind: str, n: int, channels: int, graphs: range) -> Tensor:
    """`[R, n, …]`: the noise of graphs with these names."""
    names = torch.arange(graphs.start, graphs.stop)
    batch = torch.arange(len(names)).repeat_interleave(n)
    z = noise.sample(kind, len(batch), channels, seed=0, batch=batch, graph_id=names, dtype=torch.double)
    return z.view(len(names), n, *z.shape[1:])


def apart(a: Tensor, b: Tensor) -> float:
    """The largest difference, as a share of the largest value."""
    return float((a - b).abs().max() / torch.stack([a, b]).abs().max())


# Isomorphic graphs: equal in expectation, whatever the noise is, as long as it does not know the order of the nodes.

LOLLIPOP = nx.lollipop_graph(4, 3)  # seven nodes, and none of the same kind as the last one
BARBELL = nx.barbell_graph(3, 1)  # as many nodes
ORDER = torch.tensor([6, 2, 5, 0, 4, 1, 3])
PAIRS = torch.tensor([[0, 6], [3, 5]])  # two targets: nodes 0 and 3, nodes 6 and 5


def same_mean(a: Tensor, b: Tensor) -> float:
    """The p-value of "these answers have one mean", by Welch's test on each output, with Bonferroni's correction."""
    a, b = a.flatten(1), b.flatten(1)
    pvalues = stats.ttest_ind(a.numpy(), b.numpy(), equal_var=False).pvalue
    return float(min(1.0, a.size(1) * np.min(pvalues)))


@pytest.mark.parametrize("level", ["graph", "subgraph"])
@pytest.mark.parametrize("kind", ["normal", "uniform", "rademacher", "orthogonal", "onehot", "onehot+normal"])
def test_isomorphic_graphs_have_the_same_expectation(kind: str, level: str) -> None:
    """Theorems "graph_exp" and "subgraph_exp", first parts; three channels for seven nodes, so that draws differ."""
    model = make(0, 3, kind, layers=2, level=level)
    targets = None if level == "graph" else PAIRS
    moved = None if targets is None else ORDER[targets]
    one = answers(model, edges(LOLLIPOP), sampled(kind, 7, 3, range(3000)), targets)
    other = answers(model, ORDER[edges(LOLLIPOP)], sampled(kind, 7, 3, range(3000, 6000)), moved)
    assert one.std(0).max() > 1e-3  # there is something to average
    assert same_mean(one, other) > LEVEL


def test_the_test_of_expectations_finds_graphs_that_are_not_isomorphic() -> None:
    model = make(0, 3, "normal", layers=2)
    one = answers(model, edges(LOLLIPOP), sampled("normal", 7, 3, range(3000)))
    other = answers(model, edges(BARBELL), sampled("normal", 7, 3, range(3000, 6000)))
    assert same_mean(one, other) < LEVEL


def test_the_test_of_expectations_finds_noise_that_knows_the_order_of_the_nodes() -> None:
    model = make(0, 3, "normal", layers=2)
    trend = torch.linspace(-1, 1, 7).double()[:, None]
    one = answers(model, edges(LOLLIPOP), sampled("normal", 7, 3, range(3000)) + trend)
    other = answers(model, ORDER[edges(LOLLIPOP)], sampled("normal", 7, 3, range(3000, 6000)) + trend)
    assert same_mean(one, other) < LEVEL


@pytest.mark.parametrize(("kind", "symmetry"), [("onehot", "permutation"), ("orthogonal", "orthogonal")])
@pytest.mark.parametrize("level", ["graph", "subgraph"])
@pytest.mark.parametrize("channels", [7, 10])
def test_isomorphic_graphs_are_equal_for_every_draw_where_every_draw_is_the_same_up_to_symmetry(
    kind: str, symmetry: str, level: str, channels: int
) -> None:
    """While n ≤ C, draws of `onehot` are permutations of each other's channels, and those of `orthogonal` rotations."""
    for seed in SEEDS:
        model = make(seed, channels, kind, level=level, symmetry=symmetry)
        targets = None if level == "graph" else PAIRS
        moved = None if targets is None else ORDER[targets]
        one = answers(model, edges(LOLLIPOP), sampled(kind, 7, channels, range(20)), targets)
        other = answers(model, ORDER[edges(LOLLIPOP)], sampled(kind, 7, channels, range(20, 40)), moved)
        assert apart(one[:1].expand_as(one), one) < ROUNDING
        assert apart(one, other) < ROUNDING


@pytest.mark.parametrize(
    ("kind", "symmetry"), [("normal", "permutation"), ("onehot", "none"), ("normal", "orthogonal")]
)
def test_other_noise_or_no_symmetry_gives_every_draw_another_answer(kind: str, symmetry: str) -> None:
    model = make(0, 10, kind, symmetry=symmetry)
    out = answers(model, edges(LOLLIPOP), sampled(kind, 7, 10, range(20)))
    assert all(apart(out[a], out[b]) > 1e-6 for a, b in itertools.combinations(range(20), 2))


# Graphs that are not isomorphic but that no message passing (no 1-WL test) can tell apart.


def decalin() -> nx.Graph:
    """Two six-rings that share an edge."""
    return nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])


def bicyclopentyl() -> nx.Graph:
    """Two five-rings joined by an edge."""
    return nx.Graph([*nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)).edges, (0, 5)])


def rook() -> nx.Graph:
    return nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))


def shrikhande() -> nx.Graph:
    steps = [(0, 1), (1, 0), (1, 1)]
    cells = itertools.product(range(4), repeat=2)
    return nx.Graph([(4 * i + j, 4 * ((i + a) % 4) + (j + b) % 4) for i, j in cells for a, b in steps])


def csl(skip: int) -> nx.Graph:
    """A circle of 41 nodes with chords over `skip` of them."""
    return nx.circulant_graph(41, [1, skip])


HARD: dict[str, tuple[nx.Graph, nx.Graph]] = {
    "hexagon and two triangles": (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    "decalin and bicyclopentyl": (decalin(), bicyclopentyl()),
    "CSL(41, 2) and CSL(41, 3)": (csl(2), csl(3)),
    "rook and Shrikhande": (rook(), shrikhande()),
}
hard = pytest.mark.parametrize("name", HARD)
seeds = pytest.mark.parametrize("seed", SEEDS)


def refined(graph: nx.Graph) -> list[int]:
    """The colours of Weisfeiler and Leman's test, once they are stable."""
    colours = [0] * len(graph)
    for _ in graph:
        seen = [(colours[node], tuple(sorted(colours[other] for other in graph[node]))) for node in sorted(graph)]
        names = {each: name for name, each in enumerate(sorted(set(seen)))}
        colours = [names[each] for each in seen]
    return colours


@hard
def test_the_pairs_are_what_they_are_meant_to_be(name: str) -> None:
    one, other = HARD[name]
    assert len(one) == len(other)
    assert one.number_of_edges() == other.number_of_edges()
    assert not nx.is_isomorphic(one, other)
    colours = refined(nx.disjoint_union(one, other))
    assert sorted(colours[: len(one)]) == sorted(colours[len(one) :])
    assert len(set(refined(LOLLIPOP))) > 1  # the refinement does refine


@hard
@seeds
def test_without_noise_they_look_the_same(name: str, seed: int) -> None:
    one, other = HARD[name]
    model = make(seed, len(one), "onehot", variant="mpnn")
    z = sampled("onehot", len(one), len(one), range(1))
    assert apart(answers(model, edges(one), z), answers(model, edges(other), z)) < ROUNDING


@pytest.mark.parametrize("name", [name for name in HARD if name != "rook and Shrikhande"])
@seeds
def test_marks_tell_them_apart_for_every_draw_of_the_one_and_of_the_other(name: str, seed: int) -> None:
    """Theorem "graph_exp", second part: ENGNN(G, Z₁) ≠ ENGNN(H, Z₂) for all Z₁, Z₂; and isomorphic graphs agree."""
    one, other = HARD[name]
    n = len(one)
    model = make(seed, n, "onehot")
    z = sampled("onehot", n, n, range(3))
    first, copy, second = (answers(model, e, z) for e in (edges(one), shuffle(n)[edges(one)], edges(other)))
    assert apart(first, copy) < ROUNDING
    closest = min(apart(a, b) for a in first for b in second)
    assert closest > DIFFERENT


@seeds
def test_marks_alone_cannot_tell_rook_from_shrikhande(seed: int) -> None:
    """A mark a channel makes z a colour of node pairs, and 2-dimensional Weisfeiler and Leman is blind to this pair.

    The theorem asks for channels with distinct element sets, which marks do not have. The next tests show what helps.
    """
    one, other = HARD["rook and Shrikhande"]
    model, z = make(seed, 16, "onehot"), sampled("onehot", 16, 16, range(1))
    assert apart(answers(model, edges(one), z), answers(model, edges(other), z)) < ROUNDING


@seeds
def test_colourings_tell_rook_from_shrikhande_in_expectation(seed: int) -> None:
    """`onehot` on two channels, summed over all 12870 / 2 ways to colour half of the nodes: no sampling, no error."""
    halves = [half for half in itertools.combinations(range(16), 8) if 0 in half]
    z = torch.zeros(len(halves), 16, 2).double()
    z[..., 1] = 1
    for colouring, half in zip(z, halves, strict=True):
        colouring[list(half)] = torch.tensor([1.0, 0.0]).double()
    model = make(seed, 2, "onehot")
    one, other = HARD["rook and Shrikhande"]
    graphs = edges(one), shuffle(16)[edges(one)], edges(other)
    first, copy, second = (answers(model, graph, z).mean(0) for graph in graphs)
    assert apart(first, copy) < ROUNDING
    assert apart(first, second) > DIFFERENT


@seeds
def test_a_channel_for_each_pair_of_nodes_tells_rook_from_shrikhande_for_every_draw(seed: int) -> None:
    """Noise of one's own: each of 256 channels marks one node by its first feature and one by its second."""
    z = torch.zeros(16, 256, 2).double()
    for channel, (a, b) in enumerate(itertools.product(range(16), repeat=2)):
        z[a, channel, 0] = z[b, channel, 1] = 4
    model = make(seed, 256, "normal+normal", width=48, layers=4)
    z = torch.stack([z[:, shuffle(256, draw)] for draw in range(2)])
    one, other = HARD["rook and Shrikhande"]
    first, copy, second = (answers(model, e, z) for e in (edges(one), shuffle(16)[edges(one)], edges(other)))
    assert apart(first, copy) < ROUNDING
    assert min(apart(a, b) for a in first for b in second) > DIFFERENT


# Theorem "subgraph_exp", second part: sets of nodes that no message passing can tell apart.

SETS: dict[str, tuple[nx.Graph, list[int], list[int]]] = {
    "links in a hexagon": (nx.cycle_graph(6), [0, 2], [0, 3]),
    "links in two triangles": (nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), [0, 1], [0, 3]),
    "subgraphs of an octagon": (nx.cycle_graph(8), [0, 1, 4, 5], [0, 2, 4, 6]),
}


@pytest.mark.parametrize("name", SETS)
@seeds
def test_sets_of_nodes_are_told_apart_for_every_draw(name: str, seed: int) -> None:
    graph, *sets = SETS[name]
    n, targets = len(graph), torch.tensor(sets).T
    z = sampled("onehot", n, n, range(3))
    model = make(seed, n, "onehot", level="subgraph")
    out = answers(model, edges(graph), z, targets)
    order = shuffle(n)
    assert apart(out, answers(model, order[edges(graph)], z, order[targets])) < ROUNDING
    assert min(apart(a, b) for a in out[:, 0] for b in out[:, 1]) > DIFFERENT
    without = answers(make(seed, n, "onehot", level="subgraph", variant="mpnn"), edges(graph), z, targets)
    assert apart(without[:, 0], without[:, 1]) < ROUNDING


# What the theorems ask of the noise.


def channels_differ(z: Tensor) -> bool:
    """Whether no two channels have the same multiset of elements (rows, where a channel has several features)."""
    columns = {tuple(sorted(map(tuple, column.reshape(len(column), -1).tolist()))) for column in z.unbind(1)}
    return len(columns) == z.size(1)


@pytest.mark.parametrize(
    ("kind", "nodes", "channels"),
    [("normal", True, True), ("uniform", True, True), ("orthogonal", True, True), ("onehot", True, False)],
)
def test_which_noise_has_unique_nodes_and_distinct_channels(kind: str, nodes: bool, channels: bool) -> None:
    """Marks have unique nodes only; `onehot+normal`, the default, has both."""
    for kinds, distinct in ((kind, channels), (f"{kind}+normal", True)):
        z = sampled(kinds, 6, 8, range(20))
        assert all((len(one.flatten(1).unique(dim=0)) == 6) == nodes for one in z)
        assert all(channels_differ(one) == distinct for one in z)


# Proposition "aggr_exp": where channels have distinct element multisets, AGGR separates all that is not the same up to
# S_k × S_C. That is what the universality of the paper rests on (Stone and Weierstrass do the rest).


def orbit(x: np.ndarray, z: np.ndarray) -> bytes:
    """The same for (X, Z) and (X′, Z′) exactly when permutations of nodes and channels lead from one to the other."""
    nodes, channels = (list(map(list, itertools.permutations(range(size)))) for size in z.shape)
    return min(x[p].tobytes() + z[p][:, q].tobytes() for p in nodes for q in channels)


def codes(sets: list[tuple[np.ndarray, np.ndarray]]) -> Tensor:
    """What an aggregator with random weights makes of each set (X, Z), summed over its nodes."""
    torch.manual_seed(0)
    aggregator, lift = EquivariantAggregator(1, 64, 16, 16).double(), nn.Linear(1, 16).double()
    x, z = (torch.tensor(np.concatenate(part)).double()[..., None] for part in zip(*sets, strict=True))
    index = torch.arange(len(sets)).repeat_interleave(len(sets[0][0]))
    with torch.no_grad():
        out, _ = aggregator(x, lift(z), index, len(sets))
    return out.view(len(sets), -1, 64).sum(1)


@pytest.mark.parametrize(("k", "channels"), [(2, 2), (2, 3), (3, 2)])
def test_the_aggregator_separates_all_sets_that_differ(k: int, channels: int) -> None:
    """All sets with features in {0, 1} and noise in {0, 1, 2}."""
    columns = itertools.product(itertools.product(range(3), repeat=k), repeat=channels)
    noises = [np.array(z).T for z in columns if len({tuple(sorted(column)) for column in z}) == channels]
    sets = [(np.array(x), z) for x in itertools.product(range(2), repeat=k) for z in noises]
    code = codes(sets)
    orbits = np.unique([orbit(*s) for s in sets], return_inverse=True)[1]
    assert 20 < orbits.max() < len(sets) / 3
    same = torch.tensor(orbits[:, None] == orbits)
    distance = torch.cdist(code, code, compute_mode="donot_use_mm_for_euclid_dist") / code.norm(dim=1).max()
    assert distance[same].max() < ROUNDING
    assert distance[~same].min() > DIFFERENT


def test_channels_with_equal_multisets_are_where_the_aggregator_may_fail() -> None:
    """One cycle of length 8 or two of length 4, as 0/1 matrices: rows and columns have equal sums, orbits differ."""
    x, one, two = np.zeros(4), np.eye(4) + np.roll(np.eye(4), 1, axis=1), np.kron(np.eye(2), np.ones((2, 2)))
    assert orbit(x, one) != orbit(x, two)
    assert apart(*codes([(x, one), (x, two)])) < ROUNDING
    distinct = np.array([1, 2, 3, 4])  # once the channels have multisets of their own, there is no such pair
    assert apart(*codes([(x, one * distinct), (x, two * distinct)])) > DIFFERENT


# The cost: linear in the elements of a set, and in nodes and edges.


class Work(TorchDispatchMode):
    """Counts the elements of all tensors that are made."""

    made = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = function(*args, **(kwargs or {}))
        results = out if isinstance(out, tuple | list) else [out]
        self.made += sum(tensor.numel() for tensor in results if isinstance(tensor, Tensor))
        return out


def work(call: Callable[[], object]) -> int:
    with Work() as counted, torch.no_grad():
        call()
    return counted.made


def test_the_aggregator_takes_work_in_proportion_to_its_elements() -> None:
    aggregator = EquivariantAggregator(3, 8, 2, 4)
    costs = [work(lambda k=k: aggregator(torch.ones(k, 3), torch.ones(k, 5, 2))) for k in (100, 200, 400)]
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])


@pytest.mark.parametrize("edge_dim", [None, 2])
def test_the_model_takes_work_in_proportion_to_nodes_and_edges(edge_dim: int | None) -> None:
    model = make(0, 5, "zero", edge_dim=edge_dim).float()

    def cost(n: int, degree: int) -> int:
        edge_index = torch.stack([torch.arange(n).repeat(degree), torch.arange(n * degree) % n])
        edge_attr = None if edge_dim is None else torch.ones(n * degree, edge_dim)
        return work(lambda: model(None, edge_index, edge_attr=edge_attr, noise=torch.zeros(n, 5)))

    nodes, more = cost(50, 4), [cost(n, 4) for n in (100, 200)]
    assert more[1] - more[0] == 2 * (more[0] - nodes)
    edges, more = cost(50, 4), [cost(50, degree) for degree in (8, 16)]
    assert more[1] - more[0] == 2 * (more[0] - edges)

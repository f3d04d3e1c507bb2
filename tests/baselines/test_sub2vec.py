"""Sub2Vec visits what walks do, tells communities and structures apart, and refuses other graphs."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, logsigmoid

from engnn.baselines.sub2vec import LENGTH, NEGATIVES, Sub2Vec, fit, inferred, visits
from engnn.errors import InputError

Edges = Callable[..., Tensor]
Sets = tuple[Tensor, Tensor, int]


def sets(*nodes: list[int]) -> Sets:
    index = torch.arange(len(nodes)).repeat_interleave(torch.tensor([len(one) for one in nodes]))
    return torch.tensor([node for one in nodes for node in one]), index, len(nodes)


def model(channels: int = 16, seed: int = 0) -> Sub2Vec:
    torch.manual_seed(seed)
    return Sub2Vec(8, 2, level="subgraph", noise_channels=channels).double()


def vectors(of: Sub2Vec, edge_index: Tensor, targets: Sets, n: int) -> Tensor:
    """The paragraph vectors, as the model makes them."""
    heard: list[Tensor] = []
    handle = of.head.register_forward_pre_hook(lambda _, given: heard.append(given[0]))
    batch = torch.zeros(n, dtype=torch.long)
    of(None, edge_index, batch=batch, size=1, targets=targets, num_nodes=n, noise=of.sample_noise(n, seed=0))
    handle.remove()
    return heard[0]


def test_visits_are_those_of_walks_which_stay_inside(graph: nx.Graph, edges: Edges) -> None:
    members = [[0, 1, 2, 3, 4, 5, 6, 7], [9, 20, 21, 29], [3]]
    subgraph, node, often, share = visits(edges(graph), len(graph), sets(*members))
    assert [node[subgraph == place].tolist() for place in range(3)] == members
    torch.manual_seed(0)
    walks = 4000
    for place, nodes in enumerate(members):
        inside = graph.subgraph(nodes)
        count = dict.fromkeys(nodes, 0)
        for start in torch.randint(len(nodes), (walks,)).tolist():
            now = nodes[start]
            for _ in range(LENGTH):
                count[now] += 1
                ways = list(inside[now])
                now = ways[int(torch.randint(len(ways), ()))] if ways else now
        found = torch.tensor([count[one] / (walks * LENGTH) for one in nodes]).double()
        torch.testing.assert_close(often[subgraph == place], found, rtol=0, atol=0.01)
        assert share[subgraph == place].tolist() == [inside.degree[one] / len(nodes) for one in nodes]


def test_a_paragraph_vector_is_where_the_likelihood_of_its_words_hardly_rises_any_more() -> None:
    torch.manual_seed(0)
    words, often = torch.randn(6, 3).double(), torch.tensor([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.2, 0.3, 0.5]]).double()
    negative = torch.full_like(often, 1 / 6)

    def rise(vector: Tensor) -> Tensor:
        logit = vector.requires_grad_() @ words.T
        likely = often * logsigmoid(logit) + NEGATIVES * negative * logsigmoid(-logit)
        return torch.autograd.grad(likely.sum(), vector)[0].norm(dim=1)

    assert (rise(inferred(often, negative, words)) < 0.1 * rise(torch.zeros(2, 3).double())).all()


def apart(edge_index: Tensor, seed: int) -> float:
    """How often the nearest mean tells which half of 120 nodes a subgraph is in, of nodes in no subgraph before."""
    generator = torch.Generator().manual_seed(seed)
    halves = [(torch.randperm(60, generator=generator) + 60 * half).view(-1, 6).tolist() for half in range(2)]
    found = vectors(model(seed=seed), edge_index, sets(*halves[0], *halves[1]), 120)[:, :16]
    side = torch.arange(20) // 10
    known = torch.arange(20) % 10 < 5
    means = torch.stack([found[known & (side == half)].mean(0) for half in range(2)])
    right: Tensor = torch.cdist(found, means).argmin(1)[~known] == side[~known]
    return float(right.double().mean())


def test_subgraphs_of_two_communities_lie_apart_and_those_of_none_do_not(edges: Edges) -> None:
    def block(between: float) -> Tensor:
        return edges(nx.stochastic_block_model([60, 60], [[0.2, between], [between, 0.2]], seed=1))

    joined, mixed = (sum(apart(block(p), seed) for seed in range(4)) / 4 for p in (0.01, 0.2))
    assert joined > 0.9
    assert mixed < 0.75


def test_subgraphs_of_one_structure_have_one_vector_of_structure(edges: Edges) -> None:
    ring, whole = nx.cycle_graph(5), nx.complete_graph(5)
    graph = nx.disjoint_union_all([ring, whole, ring])
    found = vectors(model(), edges(graph), sets(list(range(5)), list(range(5, 10)), list(range(10, 15))), 15)[:, 16:]
    torch.testing.assert_close(found[0], found[2])
    assert (found[0] - found[1]).abs().max() > 0.5


def test_vectors_are_the_models_own_and_hang_on_no_other_subgraph(graph: nx.Graph, edges: Edges) -> None:
    n, whole, one = len(graph), sets([0, 1, 5], [7, 2]), sets([7, 2])
    mine = vectors(model(), edges(graph), whole, n)
    assert torch.equal(mine, vectors(model(), edges(graph), whole, n))
    torch.testing.assert_close(mine[1:], vectors(model(), edges(graph), one, n))
    assert (mine - vectors(model(seed=1), edges(graph), whole, n)).abs().max() > 1e-2
    kept = model(seed=1)
    kept.load_state_dict(model().state_dict())
    assert torch.equal(mine, vectors(kept, edges(graph), whole, n))


def test_the_fit_tells_neighbours_from_others(edges: Edges) -> None:
    ring = nx.connected_caveman_graph(6, 6)
    torch.manual_seed(0)
    words = fit(edges(ring), torch.randn(36, 16), torch.zeros(36, dtype=torch.long))
    alike = cosine_similarity(words[:, None], words[None], dim=2)
    same = torch.arange(36)[:, None] // 6 == torch.arange(36)[None] // 6
    assert alike[same & ~torch.eye(36, dtype=torch.bool)].mean() > alike[~same].mean() + 0.3


def test_it_refuses_another_graph_than_it_was_trained_on(graph: nx.Graph, edges: Edges) -> None:
    trained, targets = model(), sets([0, 1])
    trained.train()
    vectors(trained, edges(graph), targets, len(graph))
    trained.eval()
    shuffled = edges(graph)[:, torch.randperm(2 * graph.number_of_edges())]
    vectors(trained, shuffled, sets([4, 2]), len(graph))
    with pytest.raises(InputError, match="another graph: ask about subgraphs of that graph"):
        vectors(trained, edges(graph)[:, 1:], targets, len(graph))

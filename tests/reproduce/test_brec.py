"""BREC's statistic, its cuts, and its copies of graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats

from engnn.data.dataset import Dataset, Graphs
from engnn.errors import Stopped
from engnn.reproduce import brec
from engnn.reproduce.table import Run, Stopping, table
from engnn.train.options import make_config

SMALL = {
    "data": "brec",
    "task": "graph",
    "model.layers": 2,
    "model.hidden": 16,
    "model.noise_channels": 8,
    "model.noise_dim": 8,
    "model.noise": "onehot",
    "train.epochs": 10,
    "train.batch_size": 16,
    "train.learning_rate": 3e-3,
    "draws": 1,
}


def two_graphs(one: nx.Graph, other: nx.Graph) -> Dataset:
    edges = [torch.tensor(list(graph.to_directed().edges)).T for graph in (one, other)]
    sizes, counts = ([len(graph) for graph in (one, other)], [each.size(1) for each in edges])
    graphs = Graphs(torch.tensor(sizes), torch.tensor(counts), torch.cat(edges, 1))
    return Dataset(
        name="brec", task="graph", metric="mae", provenance="own", graphs=graphs, ids=("basic/0/a", "basic/0/b")
    )


HEXAGON, TRIANGLES = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


@pytest.mark.parametrize("level", [0.05, 0.01, 0.05 / 400])
def test_the_cut_is_hotelling_s_quantile(level: float) -> None:
    n, p = brec.COPIES, brec.WIDTH
    assert brec.cut(level) == pytest.approx(p * (n - 1) / (n - p) * stats.f.ppf(1 - level, p, n - p), rel=1e-6)


def test_the_shipped_cut_is_the_quantile_at_five_per_cent() -> None:
    assert brec.cut(0.05) == pytest.approx(brec.CUT, abs=0.01)


def test_the_statistic_is_hotelling_s_without_the_number_of_copies() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(0.3, 1, (brec.COPIES, brec.WIDTH))
    answers = torch.zeros(2 * brec.COPIES, brec.WIDTH, dtype=torch.float64)
    answers[0::2] = torch.from_numpy(x)
    mean, spread = x.mean(0), np.cov(x.T)
    assert brec.statistic(answers) == pytest.approx(float(mean @ np.linalg.inv(spread) @ mean), rel=1e-9)


def test_the_full_statistic_rejects_equal_means_as_often_as_it_says() -> None:
    generator = torch.Generator().manual_seed(0)
    seen = [
        brec.COPIES * brec.statistic(torch.randn(2 * brec.COPIES, brec.WIDTH, generator=generator).double())
        for _ in range(600)
    ]
    for level in (0.05, 0.2):
        share = sum(value > brec.cut(level) for value in seen) / len(seen)
        assert abs(share - level) < 4 * (level * (1 - level) / len(seen)) ** 0.5


def test_copies_are_the_two_graphs_in_turn_in_other_orders() -> None:
    made = brec.copies(two_graphs(HEXAGON, TRIANGLES).graphs, [0, 1], seed=0)
    assert len(made) == 2 * brec.COPIES
    seen = set()
    for number in range(len(made)):
        edges = made.edge_index[:, made.edge_ptr[number] : made.edge_ptr[number + 1]]
        graph = nx.Graph(edges.T.tolist())
        assert nx.is_isomorphic(graph, (HEXAGON, TRIANGLES)[number % 2])
        seen.add(tuple(sorted(map(tuple, edges.T.tolist()))))
    assert len(seen) > brec.COPIES


@pytest.mark.parametrize(("variant", "apart"), [("engnn", 1), ("mpnn", 0)])
def test_a_pair_that_looks_alike_to_message_passing_is_told_apart_with_noise_alone(variant: str, apart: int) -> None:
    torch.manual_seed(0)
    config = make_config(SMALL, {"model.variant": variant})
    pair = brec.one_pair(two_graphs(HEXAGON, TRIANGLES), 0, config, torch.device("cpu"))
    assert brec.judged([pair])["basic"] == {
        "pairs": 1,
        "shipped": apart,
        "shipped_unreliable": 0,
        "corrected": apart,
        "corrected_unreliable": 0,
    }


def test_what_fails_in_reliability_is_not_told_apart() -> None:
    counts = brec.judged([{"category": "cfi", "t2": 1e6, "same": 1e3}, {"category": "cfi", "t2": 90.0, "same": 90.0}])
    assert counts["cfi"] == {
        "pairs": 2,
        "shipped": 0,
        "shipped_unreliable": 2,
        "corrected": 0,
        "corrected_unreliable": 2,
    }


def test_pairs_that_are_done_are_not_done_again(
    monkeypatch: pytest.MonkeyPatch, open_or_skip: Callable[..., Dataset], tmp_path: Path
) -> None:
    open_or_skip("brec")
    cell = next(cell for cell in table("expressivity").cells if cell.name == "brec/mpnn")
    done: list[int] = []

    def one_pair(dataset: Dataset, number: int, config: object, device: object) -> dict[str, object]:
        done.append(number)
        category = dataset.ids[2 * number].partition("/")[0]
        return {"category": category, "t2": 100.0, "same": 0.5, "parameters": 1}

    monkeypatch.setattr(brec, "one_pair", one_pair)

    def until(count: int) -> Stopping:
        return lambda: len(done) >= count

    with pytest.raises(Stopped):
        brec.measured(Run(cell, 0), tmp_path, until(150))
    with (tmp_path / "pairs.jsonl").open("a") as file:
        file.write('{"pair": 150, "t2')  # as a process leaves it that dies
    said = brec.measured(Run(cell, 0), tmp_path, until(10**6))
    assert done == list(range(400))
    assert said["scores"]["test"] == 1.0
    assert said["complete"]
    assert sum(counts["pairs"] for counts in said["categories"].values()) == 400

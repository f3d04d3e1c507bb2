"""What heuristics score in the paper's table, whose numbers are those of other papers: found again, or found not to be.

The figures on the page on baselines that are in no record are held to here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engnn.baselines._neighbours import common
from engnn.baselines.adamic_adar import rarity
from engnn.baselines.resource_allocation import share
from engnn.reproduce.table import table
from engnn.tasks.metrics import hits

SEEDS = 3
WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {"CN": torch.ones_like, "AA": rarity, "RA": share}
PAPER = table("link").paper


@pytest.mark.parametrize(
    ("name", "label", "without", "with_valid", "near"),
    [("cora", "Cora", 33.49, 40.38, 1.0), ("pubmed", "Pubmed", 23.21, 27.17, 0.4)],
)
def test_adamic_adar_and_resource_allocation_were_published_with_the_links_of_validation(
    name: str, label: str, without: float, with_valid: float, near: float, open_or_skip: Callable[..., Any]
) -> None:
    """They, unlike common neighbours. All three are alike, since fewer non-links share a neighbour than are let by."""
    scores: dict[tuple[str, bool], float] = {}
    for seed in range(SEEDS):
        data = open_or_skip(name, task="link", seed=seed)
        links, n = data.links, int(data.graphs.num_nodes[0])
        for valid in (False, True):
            edges = torch.cat([data.graphs.edge_index, links.valid[:, : links.valid.size(1) * valid]], dim=1)
            for model, weight in WEIGHTS.items():
                one, other = (common(edges, n, pairs, weight) for pairs in (links.test, links.test_negatives))
                assert (other > 0).sum() < 100
                score = hits(one, other, k=100)
                assert score is not None
                scores[model, valid] = scores.get((model, valid), 0) + 100 * score / SEEDS
    for valid, expected in ((False, without), (True, with_valid)):
        for model in WEIGHTS:
            assert scores[model, valid] == pytest.approx(expected, abs=0.005)
    for model, valid in (("CN", False), ("AA", True), ("RA", True)):
        assert abs(scores[model, valid] - PAPER[label, model].mean) < near
        assert abs(scores[model, not valid] - PAPER[label, model].mean) > 3 * near


def test_on_ogbl_ddi_resource_allocation_is_not_what_was_published_and_the_others_are(
    open_or_skip: Callable[..., Any],
) -> None:
    data = open_or_skip("ogbl-ddi")
    links, n = data.links, int(data.graphs.num_nodes[0])

    def scored(weight: Callable[[Tensor], Tensor], *parts: Tensor) -> list[float]:
        edges = torch.zeros(n, n)
        for part in parts:
            edges[part[0], part[1]] = edges[part[1], part[0]] = 1
        score = (edges * weight(edges.sum(1))) @ edges
        one, other = (score[pairs[0], pairs[1]] for pairs in (links.test, links.test_negatives))
        return [100 * (hits(one, other, k=k) or 0) for k in (20, 50, 80, 100)]

    for model in ("CN", "AA"):
        assert scored(WEIGHTS[model], data.graphs.edge_index)[0] == pytest.approx(PAPER["DDI", model].mean, abs=0.005)
    assert scored(share, data.graphs.edge_index) == pytest.approx([6.23, 19.14, 27.14, 31.17], abs=0.005)
    assert scored(share, data.graphs.edge_index, links.valid)[0] == pytest.approx(5.39, abs=0.005)
    assert scored(lambda degrees: share(degrees).sqrt(), data.graphs.edge_index)[0] == pytest.approx(18.99, abs=0.005)

"""Sets: sums, sizes and what users may give as targets."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from engnn.sets import Neighbours, Sets, as_targets


def test_a_set_without_elements_has_the_sum_zero() -> None:
    sets = Sets.of(torch.tensor([2, 0, 2]), 4)
    assert sets.sum(torch.tensor([[1.0], [2.0], [4.0]])).tolist() == [[2.0], [0.0], [5.0], [0.0]]


def test_one_set_and_many_give_the_same_sum_and_spread() -> None:
    values = torch.arange(6.0).view(3, 2)
    one, many = Sets.given(None, None, values), Sets.of(torch.zeros(3, dtype=torch.long), 2)
    assert torch.equal(one.sum(values), many.sum(values)[:1])
    assert torch.equal(one.spread(one.sum(values)), many.spread(many.sum(values)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_of_thousands_in_half_precision_do_not_stall(dtype: torch.dtype) -> None:
    """Added up one by one in bfloat16, ones stop at 256."""
    sets = Sets.of(torch.tensor([0] * 3000 + [1]), 2)
    assert sets.sum(torch.ones(3001, 1, dtype=dtype)).flatten().tolist() == pytest.approx([3000, 1], rel=4e-3)
    assert sets.scale(torch.ones(2, 1, dtype=dtype), 1.0).flatten().tolist() == pytest.approx([1 / 3000, 1], rel=4e-3)


def test_neighbours_follow_the_edges_from_row_0_to_row_1() -> None:
    neighbours = Neighbours.from_edges(torch.tensor([[0, 1, 1], [2, 2, 0]]), 4)
    assert neighbours.sum(torch.tensor([[1.0], [10.0], [100.0], [0.0]])).flatten().tolist() == [10, 0, 11, 0]


def test_a_mask_and_its_indices_are_the_same_targets() -> None:
    batch = torch.tensor([0, 0, 1])
    mask, ids = (
        as_targets("node", given, batch) for given in (torch.tensor([True, False, True]), torch.tensor([0, 2]))
    )
    assert mask is not None
    assert ids is not None
    assert torch.equal(mask.nodes, ids.nodes)
    assert torch.equal(mask.graph, ids.graph)


@pytest.mark.parametrize(
    ("level", "given", "said"),
    [
        ("graph", torch.tensor([0]), "takes no targets"),
        ("link", None, r"\[2, T\]"),
        ("link", torch.zeros(3, 2, dtype=torch.long), r"\[2, T\]"),
        ("subgraph", torch.tensor([0]), r"\(nodes, index\)"),
    ],
)
def test_targets_of_another_level_are_refused(level: Any, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        as_targets(level, given, torch.tensor([0, 0, 1]))

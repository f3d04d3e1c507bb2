"""Links: the answer is never an input, and non-links are drawn by seed and epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from engnn.data.dataset import Dataset, Links
from engnn.errors import InputError
from engnn.tasks import task_of
from engnn.tasks.batch import WHOLE, Batch, Share

Make = Callable[..., Dataset]


def edges(index: Tensor) -> set[tuple[int, int]]:
    return {(a, b) for a, b in index.T.tolist()}


def both(pairs: Tensor) -> set[tuple[int, int]]:
    return edges(pairs) | edges(pairs.flip(0))


def yes(batch: Batch) -> Tensor:
    assert isinstance(batch.targets, Tensor)
    assert batch.y is not None
    return batch.targets[:, batch.y[:, 0] == 1]


def no(batch: Batch) -> Tensor:
    assert isinstance(batch.targets, Tensor)
    assert batch.y is not None
    return batch.targets[:, batch.y[:, 0] == 0]


def known(dataset: Dataset) -> Links:
    assert dataset.links is not None
    return dataset.links


@pytest.mark.parametrize("share", [WHOLE, Share(1, 2)])
def test_the_links_of_a_batch_carry_no_message_in_either_direction_and_all_others_do(share: Share, links: Make) -> None:
    data = links()
    graph = edges(data.graphs.edge_index)
    for number, batch in enumerate(task_of(data).epoch(0, 5, seed=0, share=share)):
        whole = task_of(data).epoch(0, 5, seed=0, share=WHOLE)[number]  # what other processes ask about is hidden too
        assert edges(batch.inputs.edge_index) == graph - both(yes(whole))
        assert both(yes(batch)) <= graph


def test_weights_stay_with_their_edges(links: Make) -> None:
    for batch in task_of(links()).epoch(0, 5, seed=0, share=WHOLE):
        assert batch.inputs.edge_attr is not None
        assert torch.equal(batch.inputs.edge_attr[:, 0], batch.inputs.edge_index.sum(0).float())


def test_each_training_link_is_asked_about_once_an_epoch_beside_as_many_non_links(links: Make) -> None:
    data = links()
    batches = list(task_of(data).epoch(3, 5, seed=1, share=WHOLE))
    asked = torch.cat([yes(batch) for batch in batches], 1)
    assert sorted(asked.T.tolist()) == sorted(known(data).train.T.tolist())
    drawn = torch.cat([no(batch) for batch in batches], 1)
    assert drawn.shape == asked.shape
    assert not both(drawn) & both(known(data).train)
    assert len(edges(drawn)) == drawn.size(1)
    assert (drawn[0] != drawn[1]).all()


def test_held_out_links_may_be_drawn_as_non_links_so_that_training_knows_nothing_of_them(links: Make) -> None:
    data = links(12, 40)
    held_out = both(torch.cat([known(data).valid, known(data).test], 1))
    drawn = [both(no(batch)) for epoch in range(20) for batch in task_of(data).epoch(epoch, 5, seed=0, share=WHOLE)]
    assert held_out <= set().union(*drawn)


def test_non_links_are_new_each_epoch_and_the_same_for_the_same_seed(links: Make) -> None:
    def drawn(epoch: int, seed: int) -> list[list[list[int]]]:
        return [no(batch).tolist() for batch in task_of(links()).epoch(epoch, 5, seed=seed, share=WHOLE)]

    assert drawn(1, 0) == drawn(1, 0)
    assert drawn(1, 0) != drawn(2, 0)
    assert drawn(1, 0) != drawn(1, 1)


def test_however_large_a_batch_is_wanted_nine_tenths_of_the_links_carry_messages(links: Make) -> None:
    data = links(60, 400)
    batches = task_of(data).epoch(0, 10**6, seed=0, share=WHOLE)
    assert len(batches) == 10
    for batch in batches:
        assert batch.inputs.edge_index.size(1) >= 0.9 * data.graphs.edge_index.size(1) - 2


def test_held_out_links_never_carry_messages_unless_the_test_allows_the_valid_ones(links: Make) -> None:
    data = replace(links(), graphs=replace(links().graphs, edge_weight=None))
    graph = edges(data.graphs.edge_index)
    task = task_of(replace(data, links=replace(known(data), test_message=known(data).valid)))
    for part, carried in {"valid": graph, "test": graph | both(known(data).valid)}.items():
        for batch in task.part(part, 100, share=WHOLE):
            assert edges(batch.inputs.edge_index) == carried
    weighted = task_of(replace(links(), links=replace(known(links()), test_message=known(links()).valid)))
    with pytest.raises(InputError, match="have no features"):
        weighted.part("test", 100, share=WHOLE)


def test_the_score_is_of_links_against_the_non_links_of_their_part(links: Make) -> None:
    task = task_of(links(), metric="hits@2")
    truth = task.truth("test")
    assert truth is not None
    assert task.score("test", truth.double()) == 1.0
    assert task.score("test", 1 - truth.double()) == 0.0
    assert task.score("test", torch.full_like(truth, 0.5).double()) == 0.0  # ties are no hits


def test_each_link_may_have_non_links_of_its_own(links: Make) -> None:
    data = links()
    count = known(data).test.size(1)
    own = torch.randint(30, (2, count, 7), generator=torch.Generator().manual_seed(0))
    task = task_of(replace(data, links=replace(known(data), test_negatives=own)), metric="mrr")
    assert task.part("test", 5, share=WHOLE).total == 8 * count
    answers = torch.zeros(8 * count, 1, dtype=torch.float64)
    answers[:count] = 0.5
    assert task.score("test", answers) == 1.0
    answers[count : count + 7] = 1.0  # the non-links of the first link
    assert task.score("test", answers) == pytest.approx((count - 1 + 1 / 8) / count)


def test_a_nearly_complete_graph_has_too_few_non_links_to_learn_from(links: Make) -> None:
    data = links(9, 20)
    every = torch.triu_indices(9, 9, 1)
    crowded = replace(known(data), train=every[:, :30], valid=every[:, 30:33], test=every[:, 33:])
    with pytest.raises(InputError, match=r"30 negatives are needed, but only 6 of the 36 pairs.*complete"):
        task_of(replace(data, links=crowded)).epoch(0, 5, seed=0, share=WHOLE)

"""What holds for every task: nobody is forgotten, nobody is asked twice, and no batch changes an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from engnn.data.dataset import Dataset
from engnn.errors import InputError
from engnn.nn.model import ENGNN
from engnn.tasks import task_of
from engnn.tasks.answer import Classes, Values, YesNo, described, from_description
from engnn.tasks.batch import WHOLE, Batch, Share
from engnn.tasks.task import EVERYTHING, Task
from engnn.train.models import answer

Make = Callable[[str], Dataset]


def model_for(task: Task) -> ENGNN:
    torch.manual_seed(0)
    graphs = task.dataset.graphs
    edge_dim = None if graphs.edge_weight is None else 1
    sizes = {"noise_channels": 4, "noise_dim": 3}
    model = ENGNN(1, 8, len(task.answer.names), 1, edge_dim=edge_dim, level=task.level, **sizes)  # type: ignore[arg-type]
    return model.eval()


def asked(task: Task, batch: Batch) -> list[Tensor]:
    """The numbers of the nodes that each target of a batch consists of, read off the node features."""
    inputs = batch.inputs
    assert inputs.x is not None
    names = inputs.x.flatten().long()
    if task.level == "graph":
        return [names[inputs.batch == graph] for graph in range(inputs.size)]
    if task.level == "subgraph":
        nodes, index, count = batch.targets  # type: ignore[misc]
        return [names[nodes[index == one]] for one in range(count)]
    assert isinstance(batch.targets, Tensor)
    return list(names[batch.targets].reshape(-1, len(batch.rows)).T)


def expected(task: Task, part: str) -> list[Tensor]:
    """The same, straight from the dataset."""
    data = task.dataset
    if task.level == "link":
        return [torch.tensor([int(a), int(b)]) for a, b in zip(*task.ids(part).values(), strict=True)]
    targets = task.targets(part)
    if task.level == "node":
        return list(targets[:, None])
    if task.level == "graph":
        return [torch.arange(int(data.graphs.node_ptr[one]), int(data.graphs.node_ptr[one + 1])) for one in targets]
    assert data.members is not None
    return [data.members.select(one[None])[0] for one in targets]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("part", ["valid", "test", EVERYTHING])
def test_a_part_asks_about_each_of_its_targets_once_by_its_own_nodes(dataset: Dataset, part: str, size: int) -> None:
    task = task_of(dataset)
    found: dict[int, Tensor] = {}
    for batch in task.part(part, size, share=WHOLE):
        for row, nodes in zip(batch.rows.tolist(), asked(task, batch), strict=True):
            assert row not in found
            found[row] = nodes
    wanted = expected(task, part)
    assert sorted(found) == list(range(len(wanted)))
    for row, nodes in enumerate(wanted):
        assert torch.equal(found[row], nodes)


def test_labels_go_with_their_targets(dataset: Dataset) -> None:
    task = task_of(dataset)
    if task.level == "link":
        return  # see test_link.py
    truth = task.truth("test")
    assert truth is not None
    for batch in task.part("test", 3, share=WHOLE):
        assert batch.y is not None
        assert torch.equal(batch.y.nan_to_num(7), truth[batch.rows].nan_to_num(7))


def test_an_epoch_asks_about_each_training_target_once_in_an_order_of_its_own(dataset: Dataset) -> None:
    task = task_of(dataset)

    def rows(epoch: int, seed: int = 0) -> list[int]:
        batches = task.epoch(epoch, 4, seed=seed, share=WHOLE)
        return [row for batch in batches for row in batch.rows.tolist()]

    assert sorted(rows(0)) == list(range(len(rows(0))))
    assert rows(3) == rows(3)
    if dataset.task != "node" or len(dataset.graphs) > 1:  # one graph is one batch
        assert rows(0) != rows(1)
        assert rows(0) != rows(0, seed=1)


def test_any_batch_of_an_epoch_can_be_made_without_those_before_it(dataset: Dataset) -> None:
    one, other = (task_of(dataset).epoch(2, 4, seed=5, share=WHOLE) for _ in range(2))
    every = list(one)
    for number in reversed(range(len(other))):
        assert torch.equal(other[number].rows, every[number].rows)
        assert torch.equal(other[number].inputs.edge_index, every[number].inputs.edge_index)


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_each_batch_and_its_loss_adds_up(dataset: Dataset, world: int) -> None:
    task = task_of(dataset)
    model = model_for(task)

    def losses(share: Share) -> list[Tensor]:
        told = []
        for number, batch in enumerate(task.epoch(1, 5, seed=0, share=share)):
            if not len(batch.rows):
                told.append(torch.zeros(2))
                continue
            assert batch.y is not None
            told.append(torch.stack([*task.answer.loss(answer(model, batch, seed=0, draw=number), batch.y)]).detach())
        return told

    together = zip(*(losses(Share(rank, world)) for rank in range(world)), strict=True)
    for alone, shared in zip(losses(WHOLE), together, strict=True):
        assert torch.allclose(alone, torch.stack(shared).sum(0), rtol=1e-5)


def test_the_size_of_a_batch_changes_no_answer(dataset: Dataset) -> None:
    task = task_of(dataset)
    model = model_for(task)

    def answers(size: int) -> Tensor:
        batches = task.part("test", size, share=WHOLE)
        found = torch.zeros(batches.total, len(task.answer.names))
        for batch in batches:
            found[batch.rows] = answer(model, batch, seed=0, draw=0).detach()
        return found

    assert torch.allclose(answers(1), answers(100), atol=1e-5)


def test_a_missing_label_weighs_nothing() -> None:
    y = torch.tensor([[1.0, torch.nan], [0.0, 1.0]])
    for kind in (YesNo(("a", "b")), Values(("a", "b"), (0.5, 0.0), (2.0, 1.0))):
        out = torch.randn(2, 2, requires_grad=True)
        total, count = kind.loss(out, y)
        assert int(count) == 3
        total.backward()  # type: ignore[no-untyped-call]
        assert out.grad is not None
        assert out.grad.isfinite().all()
        assert (out.grad == 0).tolist() == [[False, True], [False, False]]
    out = torch.randn(2, 3, requires_grad=True)
    total, count = Classes(("a", "b", "c")).loss(out, torch.tensor([-1, 2]))
    total.backward()  # type: ignore[no-untyped-call]
    assert out.grad is not None
    assert int(count) == 1
    assert out.grad.abs().sum(1).gt(0).tolist() == [False, True]


def test_losses_are_the_papers() -> None:
    out, y = torch.randn(5, 3), torch.randn(5, 3)
    mean, scale = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 0.5, 1.0])
    total, count = Values(("a", "b", "c"), tuple(mean.tolist()), tuple(scale.tolist())).loss(out, y)
    assert torch.allclose(total / count, torch.nn.functional.l1_loss(out, (y - mean) / scale))
    target = torch.tensor([0, 1, 2, 1, 0])
    total, count = Classes(("a", "b", "c")).loss(out, target)
    assert torch.allclose(total / count, torch.nn.functional.cross_entropy(out, target))


def test_the_squared_error_beside_the_absolute_one_is_of_known_values_and_draws_towards_rare_ones() -> None:
    kind = Values(("a",), (1.0,), (2.0,))
    y = torch.tensor([[1.0], [1.0], [1.0], [21.0], [float("nan")]])
    out = torch.full((5, 1), 2.0, requires_grad=True)
    total, count = kind.loss(out, y, squared=1.0)
    assert (total.item(), count.item()) == (3 * (2 + 4) + (8 + 64), 4)
    total.backward()
    assert out.grad is not None
    assert out.grad.sum() < 0  # up, to the rare value
    out.grad = None
    kind.loss(out, y)[0].backward()
    assert out.grad.sum() > 0  # down, to the median


def test_values_are_answered_in_the_users_units() -> None:
    kind = Values(("a",), (10.0,), (4.0,))
    y = torch.tensor([[2.0], [14.0]])
    assert kind.decode((y - 10) / 4).flatten().tolist() == [2.0, 14.0]
    assert kind.loss((y - 10) / 4, y)[0] == 0


@pytest.mark.parametrize("kind", [Classes(("é", "1")), YesNo(("a",)), Values(("a", "b"), (0.1, 0.2), (1.0, 3.0))])
def test_a_kind_of_answers_comes_back_from_its_description(kind: Classes | YesNo | Values) -> None:
    assert from_description(described(kind)) == kind
    for damaged in ({}, {"kind": "else"}, described(kind) | {"more": []}):
        with pytest.raises(InputError, match="damaged"):
            from_description(damaged)


def test_values_are_scaled_by_the_training_part_alone(make: Make) -> None:
    data = make("nodes")
    assert data.y is not None
    changed = data.y.clone()
    changed[data.split["test"]] += 1e6
    assert task_of(replace(data, y=changed)).answer == task_of(data).answer
    changed = data.y.clone()
    changed[data.split["train"]] += 1e6
    assert task_of(replace(data, y=changed)).answer != task_of(data).answer


def test_a_score_that_is_undefined_on_the_valid_part_is_told_before_training(make: Make) -> None:
    data = make("node")
    task_of(data).check()
    y = torch.zeros(30, dtype=torch.long)
    y[data.split["train"]] = torch.arange(len(data.split["train"])) % 2
    with pytest.raises(InputError, match=r"roc_auc is undefined on the valid part of node.*take another metric"):
        task_of(replace(data, y=y), metric="roc_auc").check()
    with pytest.raises(InputError, match="nothing to learn from"):
        task_of(replace(data, y=None, split={})).check()


def test_unlabelled_targets_are_asked_about_when_everything_is(make: Make) -> None:
    data = make("nodes")
    task = task_of(replace(data, y=None, split={}, outputs=("a", "b")))
    assert task.part(EVERYTHING, 3, share=WHOLE).total == int(data.graphs.node_ptr[-1])
    assert task.truth(EVERYTHING) is None
    assert not task.learnable
    assert task.ids(EVERYTHING)["id"][:3] == ["0/0", "0/1", "0/2"]

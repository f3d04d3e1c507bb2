"""Weights in one tensor are the same weights, for whoever uses the model and for the optimiser."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from engnn import ENGNN
from engnn.train.checkpoint import packed, unpacked
from engnn.train.flat import ALIGNED, flattened

EDGES = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])


@pytest.fixture
def model() -> ENGNN:
    torch.manual_seed(0)
    return ENGNN(0, 12, 3, 2, noise_channels=4, noise_dim=5, level="node")


def answers(model: nn.Module) -> Tensor:
    out: Tensor = model(None, EDGES, noise=1, num_nodes=3)
    return out


def gradients(model: nn.Module) -> list[Tensor]:
    """Of a loss, added to those that are there."""
    answers(model).square().sum().backward()  # type: ignore[no-untyped-call]
    return [one.grad for one in model.parameters() if one.grad is not None]


def test_names_objects_values_and_answers_stay_to_the_bit_and_files_hold_them(model: ENGNN) -> None:
    plain, objects = deepcopy(model), list(model.parameters())
    flattened(model)
    assert all(one is other for one, other in zip(model.parameters(), objects, strict=True))
    assert torch.equal(answers(model), answers(plain))
    saved = unpacked(packed(model.state_dict()), None)  # type: ignore[arg-type]
    assert saved.keys() == plain.state_dict().keys()
    assert all(torch.equal(saved[name], one) for name, one in plain.state_dict().items())


def test_what_is_loaded_lands_in_the_one_tensor(model: ENGNN) -> None:
    weights, _ = flattened(model)
    model.load_state_dict({name: torch.full_like(one, 3.0) for name, one in model.state_dict().items()})
    assert weights.count_nonzero() == sum(one.numel() for one in model.parameters())
    assert weights.max() == 3


def test_every_weight_begins_where_a_tensor_of_its_own_would(model: ENGNN) -> None:
    flattened(model)
    assert {one.data_ptr() % ALIGNED for one in model.parameters()} == {0}


def test_gradients_are_those_of_the_model_as_it_was_to_the_bit(model: ENGNN) -> None:
    plain = deepcopy(model)
    _, gradient = flattened(model)
    for _ in range(2):
        gradient.zero_()
        plain.zero_grad()
        expected, found = gradients(plain), gradients(model)
        assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))
        assert torch.isclose(gradient.norm(), nn.utils.get_total_norm(expected))


def test_a_step_is_that_of_an_optimiser_of_each_weight(model: ENGNN) -> None:
    plain = deepcopy(model)
    weights, gradient = flattened(model)
    one_by_one = torch.optim.AdamW(plain.parameters(), 0.01, weight_decay=0.1)
    at_once = torch.optim.AdamW([weights], 0.01, weight_decay=0.1, fused=True)
    for _ in range(5):
        one_by_one.zero_grad()
        gradient.zero_()
        gradients(plain)
        gradients(model)
        one_by_one.step()
        at_once.step()
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    room = torch.ones_like(weights)
    for one in model.parameters():
        first = (one.data_ptr() - weights.data_ptr()) // weights.element_size()
        room[first : first + one.numel()] = 0
    assert room.any()
    assert not weights[room.bool()].any()


class Odd(nn.Module):
    """Weights that are used twice, that are not to be learnt, and that have no part in the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.frozen, self.idle = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.second = self.first
        self.frozen.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(self.frozen(self.first(x)))
        return out


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_shared_weights_are_there_once_frozen_ones_not_and_idle_ones_only_decay(decay: float) -> None:
    torch.manual_seed(0)
    model = Odd()
    before, plain = deepcopy(model.state_dict()), deepcopy(model)
    weights, gradient = flattened(model)
    optimizer = torch.optim.AdamW([weights], 0.1, weight_decay=decay, fused=True)
    for odd in (plain, model):
        odd(torch.ones(2, 3)).sum().backward()
    assert torch.equal(model.first.weight.grad, plain.first.weight.grad)  # type: ignore[arg-type]
    assert gradient.count_nonzero() == 12
    optimizer.step()
    assert model.second.weight is model.first.weight
    assert not torch.equal(model.first.weight, before["first.weight"])
    assert torch.equal(model.frozen.weight, before["frozen.weight"])
    assert torch.equal(model.idle.weight, before["idle.weight"] * (1 - 0.1 * decay))

"""A model's weights in one tensor, so that what is done to all of them is one operation rather than hundreds."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ALIGNED = 64  # bytes: where a tensor by itself begins on a CPU, so that what is computed is the same to the bit


def flattened(model: nn.Module) -> tuple[nn.Parameter, Tensor]:
    """One parameter, and its gradient, of which those of the model become views; all are of one precision and device.

    They stay what they were to everybody else: the same objects, with the same names, shapes and values, copied into by
    `load_state_dict`, added to by `backward`. A gradient is never None: what has no part in a loss has one of 0, and
    is moved by the momentum it has and by weight decay alone. Between weights there are zeros, which stay so.

    >>> model = nn.Linear(2, 1)
    >>> weights, gradient = flattened(model)
    >>> model(model.weight).sum().backward()
    >>> gradient.sum() == model.weight.grad.sum() + 1
    tensor(True)
    """
    learnt = [one for one in model.parameters() if one.requires_grad]
    step = ALIGNED // learnt[0].element_size()
    lengths = [-(-one.numel() // step) * step for one in learnt]
    weights = nn.Parameter(learnt[0].new_zeros(sum(lengths)))
    gradient = weights.grad = weights.new_zeros(len(weights))
    places = zip(learnt, torch.split(weights.detach(), lengths), torch.split(gradient, lengths), strict=True)
    for one, value, change in places:
        value, change = (flat[: one.numel()].view_as(one) for flat in (value, change))
        value.copy_(one.detach())
        one.data, one.grad = value, change
    return weights, gradient

"""Where a number stopped being finite."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from engnn.errors import InputError


class NotFinite(InputError):
    """A loss, a gradient or an answer that is not a finite number: no later step could mend the model."""


def first_layer(model: nn.Module, run: Callable[[], object]) -> str | None:
    """The first layer, in the order of computation, whose output is not finite while `run` runs the model.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> first_layer(model, lambda: model(torch.tensor([float("nan"), 0.0])))
    '0'
    """
    found: list[str] = []
    hooks = [layer.register_forward_hook(partial(_look, found, name)) for name, layer in model.named_modules() if name]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    return found[0] if found else None


def last_gradient(model: nn.Module) -> str | None:
    """The last parameter, so the one nearest to the loss, whose gradient is not finite."""
    wrong = [name for name, one in model.named_parameters() if one.grad is not None and not one.grad.isfinite().all()]
    return wrong[-1] if wrong else None


def _look(found: list[str], name: str, layer: nn.Module, given: object, out: object) -> None:
    outs = out if isinstance(out, tuple) else (out,)
    if any(isinstance(one, Tensor) and not one.isfinite().all() for one in outs):
        found.append(name)

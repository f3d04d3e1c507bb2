"""Kinds of answers: one of several classes, yes or no, values. Each knows its loss and what its outputs mean.

A loss is a sum over the answers that are known, beside their number, so that several processes can share a batch. That
of values is the absolute error, and `squared` times its square.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from engnn.errors import InputError

Loss = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Classes:
    """One of several classes; a missing label is −1.

    >>> Classes(("no", "yes")).decode(torch.zeros(1, 2)).tolist()
    [[0.5, 0.5]]
    """

    names: tuple[str, ...]
    kind: ClassVar[Literal["class"]] = "class"

    def loss(self, out: Tensor, y: Tensor, squared: float = 0.0) -> Loss:
        return functional.cross_entropy(out.float(), y, ignore_index=-1, reduction="sum"), (y >= 0).sum()

    def decode(self, out: Tensor) -> Tensor:
        return out.double().softmax(-1)

    def labels(self, answers: Tensor) -> Tensor:
        return answers.argmax(-1)


@dataclass(frozen=True)
class YesNo:
    """Yes or no for each output; a missing label is NaN.

    Probabilities are of double precision, in which distinct logits rarely become equal ones.
    """

    names: tuple[str, ...]
    kind: ClassVar[Literal["binary"]] = "binary"

    def loss(self, out: Tensor, y: Tensor, squared: float = 0.0) -> Loss:
        known = ~y.isnan()
        each = functional.binary_cross_entropy_with_logits(out.float(), torch.where(known, y, 0.0), reduction="none")
        return torch.where(known, each, 0.0).sum(), known.sum()

    def decode(self, out: Tensor) -> Tensor:
        return out.double().sigmoid()

    def labels(self, answers: Tensor) -> Tensor:
        return answers > 0.5


@dataclass(frozen=True)
class Values:
    """Numbers; a missing one is NaN. The model answers in units of `scale` from `mean`."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    kind: ClassVar[Literal["value"]] = "value"

    def loss(self, out: Tensor, y: Tensor, squared: float = 0.0) -> Loss:
        known = ~y.isnan()
        mean, scale = out.new_tensor(self.mean, dtype=torch.float32), out.new_tensor(self.scale, dtype=torch.float32)
        error = (out.float() - (torch.where(known, y, 0.0) - mean) / scale).abs()
        return torch.where(known, error + squared * error**2, 0.0).sum(), known.sum()

    def decode(self, out: Tensor) -> Tensor:
        return out.double() * out.new_tensor(self.scale, dtype=torch.float64) + out.new_tensor(
            self.mean, dtype=torch.float64
        )

    def labels(self, answers: Tensor) -> None:
        return None


Answer = Classes | YesNo | Values
_KINDS: dict[str, type[Classes] | type[YesNo] | type[Values]] = {kind.kind: kind for kind in (Classes, YesNo, Values)}


def described(answer: Answer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    return {"kind": answer.kind, **{key: list(value) for key, value in vars(answer).items()}}


def from_description(said: Mapping[str, Any]) -> Answer:
    """The answer that `described` described.

    >>> from_description(described(Classes(("a", "b"))))
    Classes(names=('a', 'b'))
    """
    try:
        given = {key: tuple(value) for key, value in said.items() if key != "kind"}
        return _KINDS[said["kind"]](**given)
    except (KeyError, TypeError) as error:
        raise InputError(f"the model's description of its answers is damaged ({error}): train it again") from error

"""Which code computes the operators, C++, Triton or plain torch; and why."""

from __future__ import annotations

import functools
import importlib
import logging
import os
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from engnn.kernels import cpu, plain

LOG = logging.getLogger("engnn.kernels")
WANTED = ("auto", "off", "torch", "cpp", "triton")


class Choice(NamedTuple):
    """`name` is `cpp`, `triton`, `torch` (the operators, in plain torch) or `off` (no operators)."""

    name: str
    reason: str


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def chosen(device: str) -> Choice:
    """What computes on a kind of device, as `$ENGNN_KERNELS` wants it (`auto` when unset) and the machine allows it."""
    return _choose(device, os.environ.get("ENGNN_KERNELS") or "auto")


def module(tensor: Tensor) -> ModuleType:
    """The `forward`, `backward` and `neighbour_sum` for tensors like this one."""
    name = chosen(tensor.device.type).name
    if name == "cpp" and tensor.dtype in cpu.DTYPES:
        return cpu
    if name == "triton":
        return importlib.import_module("engnn.kernels.gpu")
    return plain


@functools.cache
def _choose(device: str, wanted: str) -> Choice:
    if wanted not in WANTED:
        raise ValueError(f"ENGNN_KERNELS={wanted!r}; set it to one of {', '.join(WANTED)}")
    if wanted in ("off", "torch"):
        return Choice(wanted, "ENGNN_KERNELS wants it so")
    choice = Choice("torch", f"no kernel for {device} is wanted by ENGNN_KERNELS={wanted}")
    if device == "cpu" and wanted in ("auto", "cpp"):
        found = cpu.library()
        choice = Choice("torch", found) if isinstance(found, str) else Choice("cpp", found._name)
    elif wanted == "triton":
        choice = _triton(device)
    elif wanted == "auto":
        choice = Choice("off", "plain torch is the faster there; ENGNN_KERNELS=triton keeps less in memory")
    LOG.log(
        logging.WARNING if wanted != "auto" and choice.name != wanted else logging.INFO,
        "kernels on %s: %s (%s)",
        device,
        *choice,
    )
    return choice


def _triton(device: str) -> Choice:
    try:
        version = importlib.import_module("triton").__version__
    except ImportError as error:
        return Choice("torch", f"no Triton: {error}")
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device != "cuda" and not interpreted:
        return Choice("torch", f"Triton has no {device} here, but TRITON_INTERPRET=1 would interpret it")
    return Choice("triton", f"Triton {version}" + ", interpreted" * interpreted)

"""Equivariant noise for graph neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engnn.train.trained import load

__all__ = ["load"]
__version__ = "0.1.0"
_HOMES = {"load": "engnn.train.trained"}  # imported when asked for, since torch takes seconds


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"engnn has no {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

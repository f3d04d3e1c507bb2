"""Equivariant noise for graph neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engnn.boosting import AddNoise, AddNoiseFeatures, EquivariantNoise, HeteroEquivariantNoise, boost
    from engnn.data.catalog import open_dataset
    from engnn.nn import ENGNN, DeepSet, ENConv, EquivariantAggregator, SubsetReadout
    from engnn.noise import sample
    from engnn.train.trained import load

__all__ = [
    "ENGNN",
    "AddNoise",
    "AddNoiseFeatures",
    "DeepSet",
    "ENConv",
    "EquivariantAggregator",
    "EquivariantNoise",
    "HeteroEquivariantNoise",
    "SubsetReadout",
    "boost",
    "load",
    "open_dataset",
    "sample",
]
__version__ = "0.1.0"

# Each is imported when it is asked for, since torch takes seconds.
_HOMES = {
    "ENGNN": "engnn.nn",
    "DeepSet": "engnn.nn",
    "ENConv": "engnn.nn",
    "EquivariantAggregator": "engnn.nn",
    "AddNoise": "engnn.boosting",
    "AddNoiseFeatures": "engnn.boosting",
    "EquivariantNoise": "engnn.boosting",
    "HeteroEquivariantNoise": "engnn.boosting",
    "boost": "engnn.boosting",
    "SubsetReadout": "engnn.nn",
    "load": "engnn.train.trained",
    "open_dataset": "engnn.data.catalog",
    "sample": "engnn.noise",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"engnn has no {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

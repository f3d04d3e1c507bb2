"""What a named dataset is before it is opened: its tasks, its files, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from engnn.data.dataset import Dataset, Provenance, Task

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Packed:
    """An archive of raw files, as it is published."""

    path: str  # under the data root
    url: str
    inside: str  # the folder in it that is wanted
    folder: str  # where that goes, under the data root


@dataclass(frozen=True)
class File:
    """A raw file: its path under the data root, its digest, and where it is published (none: it must be put there)."""

    path: str
    sha256: str = ""
    url: str = ""
    packed: Packed | None = None  # what it is published in


def uncached(key: str, build: Callable[[], Arrays]) -> Arrays:
    """Builds anew each time; the catalogue puts the cache in its place."""
    return build()


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a source: which task, which split, which seed; and how to get at its files and its cache."""

    task: Task
    file: Callable[[str], Path]  # declared relative path -> where it lies; raises InputError where it is absent
    cached: Callable[[str, Callable[[], Arrays]], Arrays] = uncached  # what is slow to parse, parsed once: (key, build)
    seed: int = 0
    split: str = ""  # "" = the source's default
    option: str = ""  # what follows the colon in `counting:6-cycle`


@dataclass(frozen=True, kw_only=True)
class Source:
    """One named dataset. Each module in `engnn.data.sources` lists its own in `SOURCES`; no other list names them."""

    name: str
    tasks: tuple[Task, ...]  # the first is the default
    splits: tuple[str, ...]  # the first is the default
    metric: dict[Task, str]
    provenance: Provenance
    load: Callable[[Request], Dataset]
    files: tuple[File, ...] = ()
    licence: str = "not stated"
    source: str = ""
    options: tuple[str, ...] = ()
    summary: str = ""
    revision: int = 1  # raised when what `load` puts in the cache changes

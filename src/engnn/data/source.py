"""What a named dataset is before it is opened: its tasks, its files, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engnn.data.dataset import Dataset, Provenance, Task


@dataclass(frozen=True)
class File:
    """A raw file: its path under the data root, its digest, and where it is published (none: it must be put there)."""

    path: str
    sha256: str = ""
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a source: which task, which split, which seed, and where the raw files and the cache lie."""

    task: Task
    root: Callable[[str], Path]  # relative path of a declared file -> where it is; raises InputError where it is absent
    seed: int = 0
    split: str = ""  # "" = the source's default
    option: str = ""  # what follows the colon in `counting:6-cycle`


@dataclass(frozen=True, kw_only=True)
class Source:
    """One named dataset. Each module of a family lists its own in `SOURCES`; they are found by name, from no other list."""

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
    summary: str = field(default="")

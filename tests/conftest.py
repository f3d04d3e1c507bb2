"""What all tests share: an own cache, no network, and the named datasets where their files are here."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings

from engnn.data import files
from engnn.data.dataset import Dataset

# the same examples on every machine, however slow; `pytest --hypothesis-profile=default` looks for new ones
settings.register_profile("engnn", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("engnn")

_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Before anything runs, doctests included: the user's cache is out of reach, and so is the network.

    All compute on one thread, since the last bits of a sum depend on their number, and small sums are quicker so.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # of processes that tests start
    torch.set_num_threads(1)
    config.stash[_CACHE] = tempfile.TemporaryDirectory(prefix="engnn-test-")
    os.environ["ENGNN_CACHE"] = config.stash[_CACHE].name
    os.environ["ENGNN_OFFLINE"] = "1"


def pytest_unconfigure(config: pytest.Config) -> None:
    if cache := config.stash.get(_CACHE, None):
        cache.cleanup()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line on the datasets that tests asked for and could not see."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", []) if report.longrepr]
    unseen = sorted({found[1] for reason in reasons if (found := re.search(r"data: (\S+) is not here", reason))})
    terminalreporter.write_line(f"datasets not here: {len(unseen)}" + (f" ({', '.join(unseen)})" if unseen else ""))


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test alone (all other tests share one for the session)."""
    monkeypatch.setenv("ENGNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of raw data; skips where there is none."""
    *roots, _ = files.roots()
    if not roots:
        pytest.skip("there is no folder of raw data")
    return roots[0]


@pytest.fixture(scope="session")
def open_or_skip() -> Callable[..., Dataset]:
    """`open_or_skip(name, task=..., split=..., seed=...)`: the dataset, or a skip by name where files are absent."""

    def opened(name: str, **asked: Any) -> Dataset:
        from engnn.data.catalog import open_dataset

        try:
            return open_dataset(name, **asked)
        except files.MissingFile:
            pytest.skip(f"data: {name} is not here")

    return opened

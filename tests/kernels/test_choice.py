"""What computes the operators where a compiler or a GPU is, and where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engnn.kernels import choice, cpu

ONE = """
import torch
from engnn.kernels import Rows, status, sum_channels
print(status().name, sum_channels(Rows((torch.ones(2, 3, 4),), (0,), torch.ones(5, 4))).sum().item())
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    """What another process says that computes something with the kernels."""
    return subprocess.run([sys.executable, "-c", ONE], env=os.environ | environment, capture_output=True, text=True)


def test_without_a_compiler_plain_torch_computes_the_same(tmp_path: Path) -> None:
    done = run(CXX="no-such-compiler", ENGNN_CACHE=str(tmp_path))
    assert done.stdout == "torch 120.0\n"
    assert not list(tmp_path.rglob("*.so"))


def test_a_compiler_that_fails_is_not_fatal_and_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit\nexit 3\n')
    broken.chmod(0o755)
    done = run(CXX=str(broken), ENGNN_CACHE=str(tmp_path / "cache"), ENGNN_KERNELS="cpp")
    assert done.stdout == "torch 120.0\n"
    assert "exit code 3" in done.stderr
    assert not list(tmp_path.glob("cache/*/*"))


def test_compiled_once_for_all_processes() -> None:
    if isinstance(found := cpu.library(), str):
        pytest.skip(f"kernels: cpp cannot be had here ({found})")
    folder = Path(found._name).parent
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert run().stdout == "cpp 120.0\n"
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_kept_in_the_users_cache(tmp_path: Path) -> None:
    if isinstance(found := cpu.library(), str):
        pytest.skip(f"kernels: cpp cannot be had here ({found})")
    assert run(ENGNN_CACHE="", XDG_CACHE_HOME=str(tmp_path)).stdout == "cpp 120.0\n"
    assert [path.suffix for path in (tmp_path / "engnn" / "kernels").iterdir()] == [".so"]


def test_an_unknown_wish_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGNN_KERNELS", "fast")
    with pytest.raises(ValueError, match="fast"):
        choice.chosen("cpu")


def test_what_was_measured_to_be_fastest_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGNN_KERNELS", raising=False)
    assert choice.chosen("cuda").name == "off"
    assert choice.chosen("cpu").name == ("torch" if isinstance(cpu.library(), str) else "cpp")
    monkeypatch.setenv("ENGNN_KERNELS", "cpp")
    assert choice.chosen("cuda").name == "torch"

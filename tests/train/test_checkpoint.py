"""A checkpoint is whole or not there: after a kill at any moment, a full disk, a flipped bit."""

from __future__ import annotations

import random
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from engnn.errors import InputError
from engnn.train import checkpoint

KILLS = 200
PROGRAM = Path(__file__).with_name("saving.py")


def test_killed_while_saving_it_never_leaves_an_unreadable_state(engnn: Any, tmp_path: Path) -> None:
    folder, moments, last, seen = tmp_path / "checkpoint", random.Random(0), -1, set()
    long = 0.05  # seconds, at most, from the first byte to the kill; becomes such that about one checkpoint is saved
    for _ in range(KILLS):
        saving = engnn.start(folder, program=PROGRAM)
        saving.wait_for("saving")
        time.sleep(moments.uniform(0, long))
        saving.kill()
        assert saving.end().code == -9
        found = checkpoint.load(folder)
        long *= 0.9 if found is not None and found[1]["step"] > last else 1.1
        if found is None:
            continue
        tensors, state = found
        assert state["step"] >= last
        assert len(tensors) == 4
        assert all(bool((one == state["step"]).all()) for one in tensors.values())
        last = state["step"]
        seen.add(len(list(folder.iterdir())))
    assert last > KILLS / 10, "too few were saved to say anything"
    assert len(seen) > 1, "no kill came between two files"
    checkpoint.save(folder, *found)  # type: ignore[misc]
    assert len(list(folder.iterdir())) == 2  # the pointer and its checkpoint: what the dead have left is gone


def test_on_a_full_disk_the_one_before_stays(tmp_path: Path) -> None:
    small, large = {"x": torch.zeros(10)}, {"x": torch.ones(100_000)}
    checkpoint.save(tmp_path / "here", small, {"step": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(
            InputError, match=r"here cannot be written \(File too large\): 400,\d+ bytes are needed, [\d,]+ are free"
        ):
            checkpoint.save(tmp_path / "here", large, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    tensors, state = checkpoint.load(tmp_path / "here") or ({}, {})
    assert state == {"step": 1}
    assert torch.equal(tensors["x"], small["x"])
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["1", "latest"]
    checkpoint.save(tmp_path / "here", large, {"step": 2})
    assert checkpoint.load(tmp_path / "here")[1] == {"step": 2}  # type: ignore[index]


@pytest.mark.parametrize("file", ["1/tensors.safetensors", "1/state.json", "latest"])
def test_a_flipped_bit_or_a_lost_file_is_told(file: str, tmp_path: Path) -> None:
    checkpoint.save(tmp_path, {"x": torch.arange(100.0)}, {"step": 1})
    path = tmp_path / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(tmp_path)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(tmp_path)
    if file != "latest":
        path.unlink()
        with pytest.raises(InputError, match="cannot be read"):
            checkpoint.load(tmp_path)


def test_a_pointer_to_another_place_is_not_followed(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "elsewhere", {"x": torch.zeros(1)}, {})
    checkpoint.save(tmp_path / "here", {"x": torch.zeros(1)}, {})
    latest = tmp_path / "here" / "latest"
    latest.write_text(latest.read_text().replace('"1"', '"../elsewhere/1"'))
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(tmp_path / "here")


def test_every_kind_of_number_comes_back_as_it_was(tmp_path: Path) -> None:
    shared = torch.randn(3, 4)
    saved = {
        "half": torch.randn(5).bfloat16(),
        "double": torch.tensor([0.1, -0.0, 5e-324], dtype=torch.float64),
        "whole": torch.tensor([2**62]),
        "none": torch.zeros(0, 3),
        "one": torch.tensor(1.5),
        "turned": shared.T,
        "again": shared,
    }
    checkpoint.save(tmp_path, saved, {"a": [1, None, 0.1]})
    shutil.copytree(tmp_path, tmp_path / "moved")
    tensors, state = checkpoint.load(tmp_path / "moved") or ({}, {})
    assert state == {"a": [1, None, 0.1]}
    for name, one in saved.items():
        assert tensors[name].dtype == one.dtype
        assert torch.equal(tensors[name], one), name

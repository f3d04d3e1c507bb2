"""An entry comes back exactly as it was built, or is built again; nothing in between is ever seen."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from engnn.data import cache
from engnn.data.source import Arrays, File, Request, Source

ARRAYS: Arrays = {
    "long": np.arange(12, dtype=np.int64).reshape(3, 4),
    "half": np.array([0.5, -1.5], dtype=np.float16),
    "bytes": np.array([[1, 2, 3]], dtype=np.uint8),
    "flags": np.array([True, False, True]),
    "empty": np.zeros((0, 7), dtype=np.float32),
    "scalar": np.array(3.25),
    "text": np.array([["a", "βeta"], ["", "long enough"]]),
    "latin": np.array([b"x", b"yz"]),
    "no text": np.zeros((2, 0), dtype="U3"),
}


class Counting:
    """A builder that knows how often it was asked."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays, self.times = arrays, 0

    def __call__(self) -> Arrays:
        self.times += 1
        return self.arrays


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def test_what_is_read_is_what_was_built(tmp_path: Path) -> None:
    build = Counting(ARRAYS)
    built = cache.entry(tmp_path, "entry", "v", build)
    read = cache.entry(tmp_path, "entry", "v", build)
    assert build.times == 1
    assert same(built, ARRAYS)
    assert same(read, ARRAYS)


def test_an_entry_is_a_safetensors_file(tmp_path: Path) -> None:
    cache.entry(tmp_path, "entry", "v", lambda: ARRAYS)
    (path,) = tmp_path.iterdir()
    found = load_file(path)
    numbers = {name: array for name, array in ARRAYS.items() if array.dtype.kind not in "US"}
    assert same({name: found[name] for name in numbers}, numbers)


def test_big_endian_and_strided_arrays_come_back_with_the_same_values(tmp_path: Path) -> None:
    odd = {"big": np.arange(6, dtype=">i4").reshape(2, 3).T, "steps": np.arange(10.0)[::-3]}
    for _ in range(2):
        found = cache.entry(tmp_path, "entry", "v", lambda: odd)
        assert all(np.array_equal(found[name], odd[name]) for name in odd)


def test_what_is_read_may_be_changed_and_the_entry_stays(tmp_path: Path) -> None:
    for _ in range(2):
        found = cache.entry(tmp_path, "entry", "v", lambda: {"a": np.arange(5)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.from_numpy(found["a"]).add_(1)
    assert cache.entry(tmp_path, "entry", "v", dict)["a"].tolist() == [0, 1, 2, 3, 4]


def test_a_large_array_is_not_read_into_memory(tmp_path: Path) -> None:
    large = {"a": np.arange(4 << 20)}
    cache.entry(tmp_path, "entry", "v", lambda: large)
    tracemalloc.start()
    try:
        found = cache.entry(tmp_path, "entry", "v", dict)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < large["a"].nbytes / 4
    assert np.array_equal(found["a"], large["a"])


def test_something_else_under_the_same_name_is_built_again(tmp_path: Path) -> None:
    cache.entry(tmp_path, "entry", {"revision": 1}, lambda: {"a": np.array([1])})
    assert cache.entry(tmp_path, "entry", {"revision": 2}, lambda: {"a": np.array([2])})["a"].tolist() == [2]


def test_an_entry_in_another_format_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Counting(ARRAYS)
    cache.entry(tmp_path, "entry", "v", build)
    monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    cache.entry(tmp_path, "entry", "v", build)
    cache.entry(tmp_path, "entry", "v", build)
    assert build.times == 2


def damaged(whole: bytes) -> Iterator[bytes]:
    for at in range(0, len(whole), 5):
        yield whole[:at]
        yield whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
    yield whole + b"\x00"
    yield b"\xff" * 200
    yield (2).to_bytes(8, "little") + b"{}"
    yield (2).to_bytes(8, "little") + b"[]"
    yield (1 << 62).to_bytes(8, "little") + whole[8:]


def test_a_truncated_or_changed_entry_is_built_again_and_mended(tmp_path: Path) -> None:
    cache.entry(tmp_path, "entry", "v", lambda: ARRAYS)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for content in damaged(whole):
        path.write_bytes(content)
        build = Counting(ARRAYS)
        found = cache.entry(tmp_path, "entry", "v", build)
        assert same(found, ARRAYS)
        assert build.times == 1
        assert path.read_bytes() == whole


def test_only_numbers_and_text_are_kept(tmp_path: Path) -> None:
    for refused in (np.array([object()]), np.array([1j]), np.array(["2020-01-01"], dtype="M8[D]")):
        with pytest.raises(TypeError, match="cannot be cached"):
            cache.entry(tmp_path, "entry", "v", lambda refused=refused: {"a": refused})
    assert list(tmp_path.iterdir()) == []


def test_a_builder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> Arrays:
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        cache.entry(tmp_path, "entry", "v", fail)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from engnn.data import cache
os.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cache.entry(Path(sys.argv[1]), "entry", "v", lambda: {{"a": np.arange(1000)}})
"""


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_writer_killed_before_the_name_is_taken_leaves_no_entry_and_its_litter_is_cleared(
    tmp_path: Path, step: str
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED.format(step=step), tmp_path], check=False)
    assert done.returncode == -9
    (litter,) = tmp_path.iterdir()
    assert litter.suffix == ".tmp"
    long_ago = litter.stat().st_mtime - 2 * cache.ABANDONED
    os.utime(litter, (long_ago, long_ago))
    assert cache.entry(tmp_path, "entry", "v", lambda: {"a": np.arange(3)})["a"].tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["entry.safetensors"]


def test_the_temporary_of_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "entry.safetensors.abc.tmp"
    other.write_bytes(b"half")
    cache.entry(tmp_path, "entry", "v", lambda: ARRAYS)
    assert other.read_bytes() == b"half"


AT_ONCE = """
import sys
from pathlib import Path
import numpy as np
from engnn.data import cache
folder, number = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(100):
    found = cache.entry(folder, "entry", "v", lambda: {"a": np.full(50_000, 7)})
    assert found["a"].shape == (50_000,) and (found["a"] == 7).all()
    if number == 0:
        (folder / "entry.safetensors").unlink(missing_ok=True)
"""


def test_several_processes_at_once_all_get_the_right_arrays(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([sys.executable, "-c", AT_ONCE, tmp_path, str(number)], stdin=pipe, stdout=pipe, text=True)
        for number in range(4)
    ]
    for process in processes:  # none starts before all are there
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 4
    assert not list(tmp_path.glob("*.tmp"))


def test_a_folder_that_cannot_be_written_means_no_cache_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    build = Counting(ARRAYS)
    for _ in range(3):
        assert same(cache.entry(tmp_path / "file", "entry", "v", build), ARRAYS)
    assert build.times == 3
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert str(tmp_path / "file") in record.getMessage()
    assert "ENGNN_CACHE" in record.getMessage()


def test_a_full_disk_means_no_cache_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "fsync", full)
    assert same(cache.entry(tmp_path, "entry", "v", lambda: ARRAYS), ARRAYS)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def source() -> Source:
    def load(request: Request) -> object:
        raise NotImplementedError

    return Source(
        name="made/up",
        tasks=("node",),
        splits=("random",),
        metric={"node": "accuracy"},
        provenance="generated",
        load=load,  # type: ignore[arg-type]
        files=(File("made/up.bin", "0" * 64),),
    )


def test_an_entry_is_kept_for_one_source_revision_file_and_key(cache_folder: Path, source: Source) -> None:
    other_file = replace(source, files=(File("made/up.bin", "1" * 64),))
    for asked, key in (
        (source, "graph"),
        (source, "graph/6"),
        (source, "graph_6"),  # the same file name as the one before
        (replace(source, name="made_up"), "graph"),
        (replace(source, revision=2), "graph"),
        (other_file, "graph"),
    ):
        build = Counting(ARRAYS)
        for _ in range(2):
            assert same(cache.cached(asked, key, build), ARRAYS)
        assert build.times == 1, (asked, key)


def test_a_file_of_unknown_digest_is_told_by_its_size_and_time(
    cache_folder: Path, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGNN_DATA", str(tmp_path))
    path = tmp_path / "made" / "up.bin"
    path.parent.mkdir()
    source = replace(source, files=(File("made/up.bin"),))
    build = Counting(ARRAYS)
    for content in (b"one", b"three"):
        path.write_bytes(content)
        cache.cached(source, "graph", build)
        cache.cached(source, "graph", build)
    assert build.times == 2


def test_names_never_lead_outside_the_cache(cache_folder: Path, source: Source) -> None:
    cache.cached(replace(source, name=".."), "../../../escape", lambda: ARRAYS)
    (path,) = (path for path in cache_folder.parent.rglob("*") if path.is_file())
    assert path.is_relative_to(cache_folder / "parsed")

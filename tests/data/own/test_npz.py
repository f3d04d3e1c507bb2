"""Arrays come out of a file as NumPy put them in, and nothing in it is ever unpickled."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engnn.data import own
from engnn.data.own.npz import read_npz
from engnn.errors import InputError

RING = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])


class Trap:
    """What, unpickled, makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">i4"),
        np.array(3),
        np.zeros((0, 4), dtype=np.float16),
        np.array([True, False]),
        np.array(["é", "long text"]),
    ],
)
def test_arrays_are_those_that_numpy_saved(save: Any, array: np.ndarray, tmp_path: Path) -> None:
    save(tmp_path / "g.npz", a=array)
    (found,) = read_npz(tmp_path / "g.npz").values()
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_objects_are_refused_and_not_unpickled(tmp_path: Path) -> None:
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    np.savez(tmp_path / "g.npz", edge_index=RING, x=trap)
    with pytest.raises(InputError, match=r"array 'x\.npy' holds pickled objects"):
        own.read(tmp_path / "g.npz")
    assert not (tmp_path / "sprung").exists()
    with np.load(tmp_path / "g.npz", allow_pickle=True) as archive:
        archive["x"]
    assert (tmp_path / "sprung").exists()  # read the other way the trap does spring


@pytest.mark.parametrize("ids", [list("vwxyz"), [10, 20, 30, 40, 50]])
def test_ids_are_text_or_whole_numbers(ids: list[Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=RING, ids=np.array(ids), y=np.array([0.5, 1.5, 2.5, 3.5, 4.5]))
    assert own.read(tmp_path / "g.npz").ids == tuple(map(str, ids))


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, edge_index=RING, x=np.eye(5), y=np.array([0, 1, 0, 1, 1]))
    return file.getvalue()


WHOLE = archive()


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_one_error_or_changes_no_number(at: int, flip: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.npz"
        path.write_bytes(WHOLE[:at] + bytes([WHOLE[at] ^ flip]) + WHOLE[at + 1 :])
        try:
            arrays = read_npz(path)
        except InputError:
            return
    for name, array in arrays.items():  # a name may change, or a date: what a checksum is over may not
        whole = np.load(io.BytesIO(WHOLE))
        assert any(np.array_equal(array, whole[known]) for known in whole), name


def test_a_zip_of_something_else_is_one_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as file:
        file.writestr("edge_index.npy", np.lib.format.magic(9, 0) + b"\0" * 20)
    with pytest.raises(InputError, match="is not an array of NumPy's"):
        own.read(tmp_path / "g.npz")

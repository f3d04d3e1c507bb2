"""A NumPy `.npz` file with one graph's arrays, read without ever unpickling."""

from __future__ import annotations

import io
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from engnn.data.archive import Caps, contents
from engnn.data.own.stream import FREE_BYTES, MAX_BYTES, regular_size, unreadable
from engnn.errors import InputError


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays in the file, by name."""
    size = regular_size(path)
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                raise InputError(f"{path} is not an .npz file: write it with numpy.savez")
        files = contents(path, Caps(members=100, bytes=MAX_BYTES, ratio=max(100, FREE_BYTES // size)))
    except OSError as error:
        raise unreadable(path, error) from error
    if any(name.startswith("indptr") for name in files):
        raise InputError(f"{path} holds a sparse matrix, not a graph's arrays: use engnn.data.own.from_scipy in Python")
    return {name.removesuffix(".npy"): _array(data, f"{path}, array {name!r}") for name, data in files.items()}


def _array(data: bytes, where: str) -> NDArray[Any]:
    file = io.BytesIO(data)
    try:
        read_header = {1: npy.read_array_header_1_0, 2: npy.read_array_header_2_0}[npy.read_magic(file)[0]]
        shape, fortran, dtype = read_header(file)
    except (ValueError, KeyError, EOFError, RecursionError, MemoryError) as error:
        raise InputError(f"{where} is not an array of NumPy's ({error}): write the file with numpy.savez") from error
    if dtype.hasobject:
        raise InputError(
            f"{where} holds pickled objects, which can run anything when read, and are not read: save numbers or text"
        )
    if dtype.kind not in "biufU" or not dtype.itemsize:
        raise InputError(f"{where} is of type {dtype}: save numbers or text")
    body = data[file.tell() :]
    if any(size < 0 for size in shape) or prod(shape) * dtype.itemsize != len(body):
        raise InputError(f"{where} says that it has the shape {shape}, and holds {len(body)} bytes: write it again")
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C")

"""What is slow to parse, kept as plain arrays: one file for each entry, which executes nothing when it is read.

An entry is a safetensors file (a JSON header, then the arrays end to end) whose metadata hold the format, what the
entry was made from, and a digest over all of it. It takes its name only when it is whole, so that any number of
processes may write it at once, and one that is damaged, or was made from something else, is built again. Arrays are
memory-mapped, copy on write: opening costs the reading, not the memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engnn.data import files
from engnn.folders import cache_folder

if TYPE_CHECKING:
    from engnn.data.source import Arrays, Source

FORMAT: Final = 1  # raised when what is written below changes
ABANDONED: Final = 3600.0  # seconds after which a temporary file's writer is taken to be dead
MAX_HEADER: Final = 1 << 20
_CODES = {
    "|b1": "BOOL",
    "|u1": "U8",
    "|i1": "I8",
    "<u2": "U16",
    "<i2": "I16",
    "<u4": "U32",
    "<i4": "I32",
    "<u8": "U64",
    "<i8": "I64",
    "<f2": "F16",
    "<f4": "F32",
    "<f8": "F64",
}
_log = logging.getLogger(__name__)


class _Damaged(ValueError):
    """An entry is not what was written."""


def cached(source: Source, key: str, build: Callable[[], Arrays]) -> Arrays:
    """The arrays that `build` makes for `source` under `key`, built once for each revision of it and of its files."""
    made_from = {
        "source": source.name,
        "key": key,
        "revision": source.revision,
        "files": [[file.path, file.sha256 or _stamp(files.find(file))] for file in source.files],
    }
    return entry(cache_folder() / "parsed" / _safe(source.name), _safe(key), made_from, build)


def entry(folder: Path, name: str, made_from: object, build: Callable[[], Arrays]) -> Arrays:
    """The arrays in `folder/name.safetensors`; built and written there where it is absent, damaged or made otherwise.

    `made_from` is any JSON value that says what the arrays depend on. Where the folder cannot be written the arrays
    are built each time, which is logged once.
    """
    identity = json.dumps({"format": FORMAT, "made_from": made_from}, sort_keys=True)
    path = folder / f"{name}.safetensors"
    try:
        return _read(path, identity)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as damage:
        _log.info("%s is built again (%s)", path, damage)
    arrays = {name: _plain(array) for name, array in build().items()}
    try:
        _write(path, identity, arrays)
    except OSError as error:
        _say_unwritable(folder, str(error.strerror))
    return arrays


def _read(path: Path, identity: str) -> Arrays:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > MAX_HEADER:
            raise _Damaged("its header is too large")
        header = json.loads(file.read(size))
        metadata = header.pop("__metadata__")
        if metadata["identity"] != identity:
            raise _Damaged("it was made from something else, or in another format")
        types = json.loads(metadata["types"])
        start = 8 + size
        if _digest(identity, types, header, _chunks(file, start)) != metadata["digest"]:
            raise _Damaged("its digest is wrong")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return {name: _view(mapped, start, types[name], **place) for name, place in header.items()}


def _view(mapped: mmap.mmap, start: int, kind: str, *, dtype: str, shape: list[int], data_offsets: list[int]) -> Any:
    first, last = data_offsets
    raw = np.frombuffer(mapped, np.uint8, last - first, start + first)
    return raw.view(kind).reshape(shape[:-1] if kind not in _CODES else shape)


def _chunks(file: Any, start: int) -> Iterator[bytes]:
    """All bytes from `start` on; read, not mapped, so that they do not count as this process's memory."""
    file.seek(start)
    while chunk := file.read(1 << 20):
        yield chunk


def _digest(identity: str, types: dict[str, str], header: dict[str, Any], chunks: Iterator[Any]) -> str:
    digest = hashlib.sha256(json.dumps([identity, types, header], sort_keys=True).encode())
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _write(path: Path, identity: str, arrays: Arrays) -> None:
    # text has no type of its own in the format: it is written as bytes, with one more axis
    raw = {name: array if array.dtype.str in _CODES else _as_bytes(array) for name, array in arrays.items()}
    header, at = {}, 0
    for name in sorted(raw, key=lambda name: -arrays[name].dtype.alignment):  # so that each array lies aligned
        end = at + raw[name].nbytes
        header[name] = {"dtype": _CODES[raw[name].dtype.str], "shape": raw[name].shape, "data_offsets": [at, end]}
        at = end
    types = {name: array.dtype.str for name, array in arrays.items()}
    payload = [raw[name].reshape(-1).view(np.uint8).data for name in header]
    metadata = {
        "identity": identity,
        "types": json.dumps(types),
        "digest": _digest(identity, types, json.loads(json.dumps(header)), iter(payload)),
    }
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    text += b" " * (-len(text) % 8)
    _put(path, [len(text).to_bytes(8, "little"), text, *payload])


def _put(path: Path, pieces: list[Any]) -> None:
    """Write a file so that its name only ever shows it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.name}.*.tmp"):
        with suppress(FileNotFoundError):  # its writer was quicker, and has given it its name
            if time.time() - left.stat().st_mtime > ABANDONED:
                left.unlink()
    handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _plain(array: Any) -> Any:
    """Contiguous, little-endian, numbers or text."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _CODES and dtype.kind not in "US":
        raise TypeError(f"an array of {array.dtype} cannot be cached: numbers or text can")
    return np.ascontiguousarray(array, dtype).reshape(array.shape)


def _as_bytes(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8).reshape(*array.shape, array.dtype.itemsize)


def _stamp(path: Path | None) -> list[int]:
    """What tells one content of a file without a known digest from another."""
    status = path.stat() if path else None
    return [status.st_size, status.st_mtime_ns] if status else []


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "_", name)


@cache
def _say_unwritable(folder: Path, why: str) -> None:
    # logged, not warned of: with warnings as errors a full disk would stop a program that can go on without a cache
    _log.warning(
        "the cache %s cannot be written (%s): data are parsed anew each time; ENGNN_CACHE moves it", folder, why
    )

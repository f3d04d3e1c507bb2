"""Files that are either whole or not there, whatever happens while they are written."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engnn.errors import InputError

TEMPORARY = ".tmp"  # the ending of names that are not whole yet


def write(path: Path, content: bytes) -> None:
    """Put a file in place at once, on the disk itself when this returns."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    with storage(path, len(content)):
        try:
            write_through(temporary, content)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_json(path: Path, value: object) -> None:
    """Put a JSON document in place at once."""
    write(path, json.dumps(value, indent=2, allow_nan=False).encode() + b"\n")


def write_through(path: Path, content: bytes) -> None:
    """Write a file to the disk itself, under the name that it has."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def append_line(path: Path, line: str) -> None:
    """Add a line to a file that other processes may be adding to; it comes out whole, also after one that did not."""
    with storage(path, len(line)), path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        broken = False
        if end:
            file.seek(end - 1)
            broken = file.read(1) != b"\n"  # a writer was killed: its line is closed, and stays unreadable
        os.write(file.fileno(), b"\n" * broken + line.encode() + b"\n")
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Write a folder's list of names to the disk itself."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def storage(path: Path, needed: int) -> Iterator[None]:
    """Say in the user's terms why something could not be written."""
    try:
        yield
    except OSError as error:
        free = shutil.disk_usage(_existing(path)).free
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}): {needed:,} bytes are needed, {free:,} are free on "
            "that disk. What was saved before is intact: make room and go on with --resume, or give another folder"
        ) from error


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.absolute().parents) if parent.exists())

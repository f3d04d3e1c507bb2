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
    """Add a line to a file that other processes may be adding to: it is there whole, or not at all.

    Of a writer that was killed half a line may be left; it is closed, and stays unreadable by itself.
    """
    with storage(path, len(line)), path.open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        content = b"\n" * (file.read(1) not in (b"", b"\n")) + line.encode() + b"\n"
        try:
            while content:
                content = content[file.write(content) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


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
    """The path or the first folder above it that can be seen."""
    path = path.absolute()
    return next((parent for parent in (path, *path.parents) if os.path.exists(parent)), Path(path.anchor))

"""The bytes of a user's file, plain or gzipped, never more of them than memory is meant to hold."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from engnn.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES: Final = 2 << 30
FREE_BYTES: Final = 64 << 20  # a compressed file may always hold as much,
MAX_RATIO: Final = 100  # and no file more than this for each of its bytes; tables reach about 20
MAX_LINE: Final = 16 << 20


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file to be read, unzipped where its name ends in `.gz`; whatever goes wrong is an `InputError`."""
    try:
        size = regular_size(path)
        limit = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * size)) if path.suffix == ".gz" else MAX_BYTES
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
            yield io.BufferedReader(_Capped(raw, path, limit), 1 << 16)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the gzip file is damaged ({error}). Make it again, or unpack it.") from error
    except OSError as error:
        raise unreadable(path, error) from error


def regular_size(path: Path) -> int:
    """The size of a file that is neither empty nor anything but a file."""
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if path.is_dir():
        raise InputError(f"{path} is a folder, and a file is wanted here: move it away, or give the file's path")
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder: copy its content to a file")
    if not size:
        raise InputError(f"{path} is empty: write it again, or delete it where it is optional")
    return size


def text_lines(file: IO[bytes], path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, with their ends; a byte order mark is dropped."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise InputError(f"{path}, line {number} is longer than {MAX_LINE} bytes: is it a table?")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            kind = "UTF-16" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else "Latin-1 or Windows-1252"
            raise InputError(
                f"{path}, line {number}: byte {line[error.start]:#04x} is not UTF-8; the file may be {kind}. "
                "Save it as UTF-8 ('CSV UTF-8' in a spreadsheet)"
            ) from error
        if "\0" in text:
            raise InputError(
                f"{path}, line {number} has a NUL byte: the file is damaged, or is not text. Write it again"
            )
        yield text


def unreadable(path: Path, error: Exception) -> InputError:
    """What to say of a file that the system does not give."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
    return InputError(f"{path} cannot be read ({why}): give the path of a file that is there and may be read")


class _Capped(io.RawIOBase):
    """A stream that refuses to give more than `limit` bytes."""

    def __init__(self, raw: IO[bytes] | gzip.GzipFile, path: Path, limit: int) -> None:
        self.raw, self.path, self.limit, self.left = raw, path, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        data = self.raw.read(memoryview(buffer).nbytes)
        self.left -= len(data)
        if self.left < 0:
            raise InputError(
                f"{self.path} holds more than {self.limit} bytes, the most that is read from a file of its size: "
                "unpack it where you trust it, or use Parquet"
            )
        memoryview(buffer).cast("B")[: len(data)] = data
        return len(data)

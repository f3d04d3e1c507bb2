"""What is inside a zip or tar.gz archive from elsewhere: plain files of bounded size, or nothing at all."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from engnn.errors import InputError


@dataclass(frozen=True)
class Caps:
    """How much an archive may hold before it is refused."""

    members: int = 10_000
    bytes: int = 16 << 30
    ratio: int = 200  # bytes inside for each byte of the archive; columns of small numbers reach about 20


DEFAULT: Final = Caps()
HEADER: Final = 1 << 20  # no member's header is larger, and a tar file has two empty blocks at its end


def contents(archive: Path, caps: Caps = DEFAULT) -> dict[str, bytes]:
    """The files inside by their names, in memory.

    An `InputError` refuses the archive where a name leads outside (`..`, absolute), is there twice, or is a link's or
    a device's, where a member is encrypted, and where there is more than `caps` allow, whatever it says of its size.
    """
    with _refusing(archive):
        return {name: file.read() for name, file in _members(archive, caps)}


def extract(archive: Path, folder: Path, caps: Caps = DEFAULT, *, inside: str = "") -> Path:
    """The files in its folder `inside`, under `folder`, which appears whole or not at all; refused as by `contents`."""
    if folder.exists():
        raise InputError(f"{folder} exists already: move it away, or extract {archive.name} into another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent) as temporary:
        whole = Path(temporary) / "whole"
        whole.mkdir()
        with _refusing(archive):
            for name, file in _members(archive, caps):
                path = whole / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as copy:
                    shutil.copyfileobj(file, copy)
        if not (whole / inside).is_dir():
            raise InputError(f"{archive} has no folder {inside!r}: it is another archive; get the right one")
        os.rename(whole / inside, folder)
    return folder


class _Refused(Exception):
    """Why an archive is not opened."""


@contextmanager
def _refusing(archive: Path) -> Iterator[None]:
    try:
        yield
    except _Refused as error:
        raise InputError(
            f"{archive}: {error}. Nothing of it is used: get it from its official place, or pack it uncompressed."
        ) from error
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{archive}: the archive is damaged ({error}). Get it again.") from error
    except NotImplementedError as error:
        raise InputError(f"{archive}: {error}. Pack it anew as a zip file with the usual method.") from error


def _members(archive: Path, caps: Caps) -> Iterator[tuple[str, IO[bytes]]]:
    """Each file inside, open until the next is asked for."""
    limit = min(caps.bytes, caps.ratio * archive.stat().st_size)
    names: set[str] = set()
    total = 0
    for name, size, file in _zip(archive, caps) if zipfile.is_zipfile(archive) else _tar(archive, limit):
        total += size
        if len(names) == caps.members:
            raise _Refused(f"it has more than {caps.members} members")
        if total > limit:
            raise _too_large(limit)
        if re.search(r"[\\:\x00-\x1f]", name) or {"", ".", ".."} & set(name.split("/")):
            raise _Refused(f"the name of its member {name!r} leads outside, or is not plain")
        if name.casefold() in names:
            raise _Refused(f"it has two members named {name!r}")
        names.add(name.casefold())
        yield name, file


def _zip(archive: Path, caps: Caps) -> Iterator[tuple[str, int, IO[bytes]]]:
    with zipfile.ZipFile(archive) as inside:
        if len(inside.infolist()) > caps.members:
            raise _Refused(f"it has more than {caps.members} members")
        for info in inside.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _Refused(f"its member {info.orig_filename!r} is a link or a device")
            if info.flag_bits & 1:
                raise _Refused(f"its member {info.orig_filename!r} is encrypted")
            if info.orig_filename.endswith("/") and not info.file_size:
                continue
            with _opened(inside, info) as file:
                yield info.orig_filename, info.file_size, file


def _opened(inside: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return inside.open(info)
    except (OSError, ValueError) as error:  # it is said to lie where nothing can
        raise zipfile.BadZipFile(f"{info.orig_filename}: {error}") from error


def _tar(archive: Path, limit: int) -> Iterator[tuple[str, int, IO[bytes]]]:
    with _Capped(archive, limit + HEADER) as raw, tarfile.open(fileobj=raw, mode="r|") as inside:
        for info in inside:
            if info.isdir():
                continue
            file = inside.extractfile(info) if info.isreg() and not info.issparse() else None
            if file is None:
                raise _Refused(f"its member {info.name!r} is a link or a device")
            yield info.name, info.size, file
        while raw.read(1 << 20):  # to its end, where the checksum is
            pass


class _Capped(gzip.GzipFile):
    """Refuses to give more than `limit` bytes: a tar header may claim any size, and is read before it is seen."""

    def __init__(self, path: Path, limit: int) -> None:
        super().__init__(path)
        self.limit = self.left = limit

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(self.left + 1 if size is None or size < 0 else min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise _too_large(self.limit)
        return data


def _too_large(limit: int) -> _Refused:
    return _Refused(f"its content is larger than {limit} bytes, the most for an archive of its size")

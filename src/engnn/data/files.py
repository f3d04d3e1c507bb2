"""Where raw files lie: the places that are looked through, in order, and what is said where a file is in none."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engnn.errors import InputError
from engnn.folders import cache_folder

if TYPE_CHECKING:
    from engnn.data.source import File, Packed


class MissingFile(InputError):
    """A raw file is in none of the places and cannot be had."""


def downloads() -> Path:
    """Where downloaded files are kept. What lies there had the right digest when it took its name."""
    return cache_folder() / "raw"


def roots() -> tuple[Path, ...]:
    """The folders that are looked through, in order: `$ENGNN_DATA`, `../shared/data` beside the checkout, the cache."""
    found = []
    if named := os.environ.get("ENGNN_DATA"):
        if not os.path.isdir(named):  # unlike Path.is_dir it minds no folder on the way that is closed to this user
            raise InputError(f"ENGNN_DATA={named} is not a folder: set it to the folder that holds the raw data")
        found.append(Path(named))
    checkout = Path(__file__).parents[3]  # in an installed package this is some other folder, without a pyproject.toml
    beside = [checkout.parent] if (checkout / "pyproject.toml").is_file() else []
    with suppress(FileNotFoundError):  # somebody has deleted the current folder
        beside.append(Path.cwd().parent)
    found += [folder / "shared" / "data" for folder in beside]
    existing = [folder for folder in found if os.path.isdir(folder)]
    return (*dict.fromkeys(existing), downloads())


def find(file: File) -> Path | None:
    """Where the file lies, unread; None where it is absent."""
    return _first(file.path)


def _first(path: str) -> Path | None:
    return next((root / path for root in roots() if os.path.isfile(root / path)), None)


def locate(file: File) -> Path:
    """Where the file lies, with the right content, and without touching the network."""
    path = find(file)
    if path is None:
        published = f"; it is published at {file.url}." if file.url else ". It cannot be downloaded."
        if file.packed:
            published = (
                f"; or put {file.packed.path} there, published at {file.packed.url}, and it is unpacked for you."
            )
        raise MissingFile(
            f"{file.path} is not here. Put it (SHA-256 {file.sha256 or 'not known'}) under "
            f"{' or '.join(map(str, roots()))}, or set ENGNN_DATA to a folder that holds it{published}"
        )
    if file.sha256 and path != downloads() / file.path and (digest := sha256(path)) != file.sha256:
        raise InputError(
            f"{path} is damaged, or another version: its SHA-256 is {digest}, not {file.sha256}. "
            "Put the right file in its place, or move it away."
        )
    return path


def fetch(file: File) -> Path:
    """Where the file lies, once it was got if it was absent: out of its archive where that is here, or downloaded.

    `ENGNN_OFFLINE=1` forbids downloads, and what has no known digest is never downloaded.
    """
    if find(file) is None:
        if file.packed:
            _unpack(file, file.packed)
        elif file.url and file.sha256 and not offline():
            from engnn.data.download import download

            download(file.url, downloads() / file.path, sha256=file.sha256)
    return locate(file)


def _unpack(file: File, packed: Packed) -> None:
    archive = _first(packed.path)
    if archive is not None:
        from engnn.data.archive import extract
        from engnn.data.download import alone

        with alone(downloads()):
            if not (downloads() / packed.folder).exists():  # no other process was first
                extract(archive, downloads() / packed.folder, inside=packed.inside)


def offline() -> bool:
    """Whether `ENGNN_OFFLINE` forbids downloads."""
    return os.environ.get("ENGNN_OFFLINE", "0") not in ("", "0")


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it readable, or move it away") from error

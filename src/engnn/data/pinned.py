"""The digests of raw files: `pinned.sha256` beside this module, by which `sha256sum -c` checks a folder of raw data."""

from __future__ import annotations

from importlib.resources import files

from engnn.data.source import File

GITHUB = "https://raw.githubusercontent.com"
_LINES = (files("engnn.data") / "pinned.sha256").read_text(encoding="ascii").splitlines()
_DIGESTS = {path: digest for digest, path in (line.split("  ", 1) for line in _LINES)}


def pinned(path: str, url: str = "") -> File:
    """The raw file at `path` under the data root, with its known digest.

    >>> pinned("SEAL-mat/USAir.mat").sha256[:8]
    '6b48a37e'
    """
    return File(path, _DIGESTS[path], url)

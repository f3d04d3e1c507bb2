"""Where things of the user's are kept."""

from __future__ import annotations

import os
from pathlib import Path

from engnn.errors import InputError


def cache_folder() -> Path:
    """The user's cache: `$ENGNN_CACHE`, else `engnn` under `$XDG_CACHE_HOME`, else under `~/.cache`."""
    if own := os.environ.get("ENGNN_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "engnn"
    try:
        return Path.home() / ".cache" / "engnn"
    except RuntimeError as error:
        raise InputError("this user has no home folder to cache data in: set ENGNN_CACHE to a folder") from error

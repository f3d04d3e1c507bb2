"""One file brought over HTTP: resumed where it broke off, and named only once its digest is the pinned one."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

from engnn.errors import InputError

MAX_BYTES: Final = 16 << 30  # above the largest published file, ogbl-ppa's
MAX_REDIRECTS: Final = 5
TIMEOUT: Final = 30.0  # seconds without any data
CHUNK: Final = 1 << 18


def download(url: str, target: Path, *, sha256: str, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT) -> Path:
    """Bring `url` to `target`, whose SHA-256 must be `sha256`.

    What has come so far lies in `target` + `.part`, and the next call goes on from there. Several processes may ask
    for the same file at once: one brings it, the others wait.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"{url}: only http and https addresses are downloaded")
    part = target.with_name(f"{target.name}.part")
    try:
        with alone(target.parent):
            if target.is_file():  # another process was first
                return target
            with part.open("ab+") as file:
                _bring(url, file, sha256, max_bytes, timeout, target.name)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
    except _Wrong as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{url}: {error}. Try again later, or put the right file at {target}.") from error
    except _Broken as error:
        raise InputError(f"{url}: {error}. Try again, which resumes it, or put the file at {target}.") from error
    except OSError as error:
        free = shutil.disk_usage(_existing(target.parent)).free
        raise InputError(
            f"{target} cannot be written ({error.strerror}; {free} bytes are free there). "
            "Make room, or set ENGNN_CACHE to another folder."
        ) from error
    return target


class _Wrong(Exception):
    """What the server gives is not the file; nothing of it is worth keeping."""


class _Broken(Exception):
    """The transfer ended early; what has come is kept."""


def _bring(url: str, file: IO[bytes], sha256: str, max_bytes: int, timeout: float, name: str) -> None:
    """Fill `file` until its digest is right, starting over once if what was resumed turns out wrong."""
    before = file.seek(0, os.SEEK_END)
    if before and _digest(file) == sha256:
        return
    _transfer(url, file, max_bytes, timeout, name)
    if before and _digest(file) != sha256:
        file.truncate(0)
        _transfer(url, file, max_bytes, timeout, name)
    if (found := _digest(file)) != sha256:
        raise _Wrong(f"what came ({file.tell()} bytes) has the SHA-256 {found}, not {sha256}: damaged, or replaced")


def _transfer(url: str, file: IO[bytes], max_bytes: int, timeout: float, name: str) -> None:
    """Append what `file` lacks; all of it where the server gives it from the start."""
    at = file.seek(0, os.SEEK_END)
    with _answer(url, at, timeout) as response:
        status = response.status
        if status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and at:  # what is here is longer than the file
            file.truncate(0)
            return _transfer(url, file, max_bytes, timeout, name)
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT):
            if 300 <= status < 400:
                raise _Wrong(f"the server redirects in circles, more than {MAX_REDIRECTS} times, or off the web")
            raise _Wrong(f"the server answers {status} {response.reason}")
        if status == http.HTTPStatus.OK:
            at = 0
            file.truncate(0)
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {at}-"):
            raise _Wrong("the server answers with another part of the file than was asked for")
        total = None if response.length is None else at + response.length
        if total is not None and total > max_bytes:
            raise _Wrong(f"it is {total} bytes long, and at most {max_bytes} are taken")
        for chunk in _shown(_chunks(response, at, total), at, total, name):
            at += len(chunk)
            if at > max_bytes:
                raise _Wrong(f"it is longer than the {max_bytes} bytes that are taken")
            file.write(chunk)
    return None


def _answer(url: str, start: int, timeout: float) -> Any:
    """What the server answers, whatever its status, when asked for the bytes from `start` on."""
    headers = {"User-Agent": "engnn", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        return _opener().open(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        return error  # which is an answer too
    except urllib.error.URLError as error:
        raise _Broken(f"the server cannot be reached ({error.reason})") from error
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(f"the server does not answer as it should ({str(error).strip() or 'silence'})") from error


def _chunks(response: http.client.HTTPResponse, at: int, total: int | None) -> Iterator[bytes]:
    try:
        while chunk := response.read1(CHUNK):
            at += len(chunk)
            yield chunk
    except (OSError, http.client.HTTPException) as error:  # the connection's errors only: the disk's arise elsewhere
        raise _Broken(f"the transfer broke off after {at} bytes ({error})") from error
    if total is not None and at < total:
        raise _Broken(f"the transfer ended after {at} of {total} bytes")


def _shown(chunks: Iterator[bytes], at: int, total: int | None, name: str) -> Iterator[bytes]:
    """The same chunks, with a line on the terminal that says how far they are."""
    if not sys.stderr.isatty():
        yield from chunks
        return
    said = 0.0
    try:
        for chunk in chunks:
            at += len(chunk)
            if (now := time.monotonic()) - said > 0.1:
                said = now
                share = f" of {total / 1e6:.1f} MB ({100 * at / total:.0f} %)" if total else " MB"
                print(f"\r\033[K{name}: {at / 1e6:.1f}{share}", end="", file=sys.stderr, flush=True)
            yield chunk
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _digest(file: IO[bytes]) -> str:
    """The digest of all of `file`, which is left at its end."""
    file.flush()
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While no other process is in here for the same folder, which is made where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        if sys.platform != "win32":  # where two at once cost one of them an error, never a wrong file
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = MAX_REDIRECTS
    max_repeats = 2

    def redirect_request(self, request: Any, answer: Any, code: int, message: str, headers: Any, url: str) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            answer.close()
            raise _Wrong(f"the server redirects to {url}, which is not on the web")
        return super().redirect_request(request, answer, code, message, headers, url)


def _opener() -> urllib.request.OpenerDirector:
    """Knows http and https; unlike urllib's own, neither files nor FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())

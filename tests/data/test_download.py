"""A download is the pinned file or one clear error, whatever the server does."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engnn.data import download as module
from engnn.data import files
from engnn.data.download import download
from engnn.data.source import File
from engnn.errors import InputError

CONTENT = bytes(range(256)) * 4000
SHA = hashlib.sha256(CONTENT).hexdigest()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


class Handler(BaseHTTPRequestHandler):
    """One path for each way of answering; the server counts requests and the bytes asked for."""

    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range", "")
        self.server.asked.append((self.path, asked))
        getattr(self, self.path.strip("/").replace("-", "_"))(int(asked[6:-1]) if asked else 0)

    def log_message(self, *_: object) -> None:
        pass

    def say(self, status: int, body: bytes = b"", **headers: object) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": len(body)} | headers).items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def good(self, start: int) -> None:
        if start >= len(CONTENT):
            self.say(416)
        elif start:
            self.say(206, CONTENT[start:], Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            self.say(200, CONTENT)

    def range_ignoring(self, start: int) -> None:
        self.say(200, CONTENT)

    def other_range(self, start: int) -> None:
        self.say(206, CONTENT[start + 1 :], Content_Range=f"bytes {start + 1}-{len(CONTENT) - 1}/{len(CONTENT)}")

    def truncated_once(self, start: int) -> None:
        if len(self.server.asked) > 1:
            return self.good(start)
        return self.say(200, CONTENT[:100_000], Content_Length=len(CONTENT))

    def corrupted(self, start: int) -> None:
        self.say(200, CONTENT[:-1] + b"?")

    def page(self, start: int) -> None:
        self.say(200, b"<html>please sign in</html>")

    def missing(self, start: int) -> None:
        self.say(404, b"no such page")

    def empty_status(self, start: int) -> None:
        self.say(204)

    def oversized(self, start: int) -> None:
        self.say(200, CONTENT)

    def oversized_unannounced(self, start: int) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(CONTENT)

    def unannounced(self, start: int) -> None:
        self.oversized_unannounced(start)

    def chunked_and_cut(self, start: int) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"ff\r\nonly a few bytes")

    def not_http(self, start: int) -> None:
        self.wfile.write(b"\x00\x01 this is no status line\r\n\r\n")

    def redirected(self, start: int) -> None:
        self.say(302, Location="/good")

    def looping(self, start: int) -> None:
        self.say(302, Location="/looping")

    def to_file(self, start: int) -> None:
        self.say(302, Location=f"file://{self.server.secret}")

    def to_ftp(self, start: int) -> None:
        self.say(301, Location="ftp://127.0.0.1/raw.bin")

    def slow(self, start: int) -> None:
        self.say(200, CONTENT[:1000], Content_Length=len(CONTENT))
        self.wfile.flush()
        self.server.released.wait(30)

    def silent(self, start: int) -> None:
        self.server.released.wait(30)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, secret: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.released = threading.Event()
        self.secret = secret

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of the tests."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    server = Server(secret)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "raw" / "data.bin"


@pytest.mark.parametrize("path", ["good", "redirected", "unannounced"])
def test_a_good_answer_becomes_the_file_and_leaves_nothing_else(server: Server, target: Path, path: str) -> None:
    assert download(server.url(path), target, sha256=SHA) == target
    assert target.read_bytes() == CONTENT
    assert names(target.parent) == {target.name}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("corrupted", f"not {SHA}"),
        ("page", f"not {SHA}"),
        ("missing", "404"),
        ("empty-status", "204"),
        ("oversized", "is 1024000 bytes long, and at most 200000"),
        ("oversized-unannounced", "longer than the 200000"),
        ("looping", "redirects"),
        ("to-file", "redirects"),
        ("to-ftp", "redirects"),
    ],
)
def test_a_wrong_answer_is_one_error_that_says_why_and_leaves_nothing(
    server: Server, target: Path, path: str, said: str
) -> None:
    cap = 200_000 if "oversized" in path else module.MAX_BYTES
    with pytest.raises(InputError, match=said) as error:
        download(server.url(path), target, sha256=SHA, max_bytes=cap)
    assert server.url(path) in str(error.value)
    assert str(target) in str(error.value)
    assert names(target.parent) == set()


def test_a_redirect_in_circles_is_followed_a_few_times_only(server: Server, target: Path) -> None:
    with pytest.raises(InputError):
        download(server.url("looping"), target, sha256=SHA)
    assert len(server.asked) <= module.MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("truncated-once", "ended after 100000 of 1024000"),
        ("slow", "broke off after 1000"),
        ("silent", "does not answer"),
        ("chunked-and-cut", "broke off"),
        ("not-http", "does not answer"),
    ],
)
def test_a_broken_transfer_is_one_error_and_does_not_take_the_name(
    server: Server, target: Path, path: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        download(server.url(path), target, sha256=SHA, timeout=0.2)
    assert not target.exists()


def test_a_truncated_transfer_goes_on_where_it_ended(server: Server, target: Path) -> None:
    with pytest.raises(InputError, match="resumes"):
        download(server.url("truncated-once"), target, sha256=SHA)
    download(server.url("truncated-once"), target, sha256=SHA)
    assert target.read_bytes() == CONTENT
    assert server.asked[-1] == ("/truncated-once", "bytes=100000-")


@pytest.mark.parametrize(
    ("already", "requests"),
    [
        pytest.param(CONTENT[:5000], ["bytes=5000-"], id="right-so-far"),
        pytest.param(b"!" * 5000, ["bytes=5000-", ""], id="wrong-so-far"),
        pytest.param(CONTENT, [], id="whole-but-unnamed"),
        pytest.param(b"!" * len(CONTENT), [f"bytes={len(CONTENT)}-", ""], id="wrong-and-as-long"),
        pytest.param(CONTENT + b"more", [f"bytes={len(CONTENT) + 4}-", ""], id="too-long"),
    ],
)
def test_whatever_an_earlier_transfer_left_the_file_comes_out_right(
    server: Server, target: Path, already: bytes, requests: list[str]
) -> None:
    target.parent.mkdir()
    target.with_name("data.bin.part").write_bytes(already)
    download(server.url("good"), target, sha256=SHA)
    assert target.read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == requests
    assert names(target.parent) == {target.name}


def test_a_server_that_ignores_ranges_sends_all_of_it_again(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("data.bin.part").write_bytes(CONTENT[:5000])
    download(server.url("range-ignoring"), target, sha256=SHA)
    assert target.read_bytes() == CONTENT


def test_a_server_that_sends_another_range_is_refused(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("data.bin.part").write_bytes(CONTENT[:5000])
    with pytest.raises(InputError, match="another part"):
        download(server.url("other-range"), target, sha256=SHA)
    assert not target.exists()


@pytest.mark.parametrize("scheme", ["file", "ftp", "data", ""])
def test_other_addresses_than_the_webs_are_refused(tmp_path: Path, target: Path, scheme: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    with pytest.raises(InputError, match="only http"):
        download(f"{scheme}://{secret}" if scheme else str(secret), target, sha256=SHA)
    assert not target.parent.exists()


def test_no_server_is_one_error(target: Path, server: Server) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(InputError, match="cannot be reached"):
        download(server.url("good"), target, sha256=SHA)


def test_a_target_that_cannot_be_written_is_one_error(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        download(server.url("good"), tmp_path / "file" / "data.bin", sha256=SHA)


def test_a_full_disk_is_one_error_with_the_free_bytes(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device; \d+ bytes are free"):
        download(server.url("good"), target, sha256=SHA)
    assert not target.exists()


def test_many_at_once_bring_the_file_once(server: Server, target: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: download(server.url("good"), target, sha256=SHA), range(8)))
    assert {path.read_bytes() == CONTENT for path in found} == {True}
    assert len(server.asked) == 1
    assert names(target.parent) == {target.name}


def test_progress_is_shown_on_a_terminal_only(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    download(server.url("good"), target, sha256=SHA)
    assert capsys.readouterr() == ("", "")
    target.unlink()
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    download(server.url("good"), target, sha256=SHA)
    printed = capsys.readouterr()
    assert "data.bin: " in printed.err
    assert printed.out == ""


def test_an_absent_published_file_is_fetched_into_the_cache_and_found_there(
    server: Server, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGNN_OFFLINE")
    file = File("family/absent-elsewhere.bin", SHA, server.url("good"))
    assert files.fetch(file) == cache_folder / "raw" / "family" / "absent-elsewhere.bin"
    assert files.fetch(file).read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_a_file_without_a_digest_is_never_downloaded(
    server: Server, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGNN_OFFLINE")
    with pytest.raises(files.MissingFile):
        files.fetch(File("family/absent-elsewhere.bin", "", server.url("good")))
    assert server.asked == []

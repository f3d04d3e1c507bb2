"""An archive from elsewhere gives plain files or one error, and writes nowhere but where it was told."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from engnn.data.archive import Caps, contents, extract
from engnn.errors import InputError

PLAIN = {"name/raw/a.txt": b"1, 2\n" * 20, "name/raw/b.txt": b"", "readme": b"\x00\xff"}


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = method
            archive.writestr(info, content)
    return path


def tarred(path: Path, members: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/hostname"
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


PACKERS = pytest.mark.parametrize("pack", [zipped, tarred])
Pack = Callable[..., Path]


@PACKERS
def test_plain_files_come_out_as_they_went_in(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", PLAIN)
    assert contents(archive) == PLAIN
    extract(archive, tmp_path / "out")
    found = {path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path / "out").as_posix(): path.read_bytes() for path in found} == PLAIN


@PACKERS
@pytest.mark.parametrize(
    "name", ["../outside", "a/../../outside", "/outside", "a//b", "./a", "a\\..\\b", "C:outside", "a\nb"]
)
def test_a_name_that_leads_outside_is_refused_and_nothing_is_written(tmp_path: Path, pack: Pack, name: str) -> None:
    archive = pack(tmp_path / "archive", {"first": b"harmless", name: b"harmful"})
    with pytest.raises(InputError, match="leads outside"):
        contents(archive)
    with pytest.raises(InputError, match="leads outside"):
        extract(archive, tmp_path / "deep" / "out")
    assert {path.name for path in tmp_path.rglob("*")} == {"archive", "deep"}


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(InputError, match="link or a device"):
        contents(zipped(tmp_path / "archive", {"a": b"/etc/hostname"}, mode=kind | 0o644))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(InputError, match="link or a device"):
        contents(tarred(tmp_path / "archive", {"a": b""}, kind))


@PACKERS
def test_one_name_twice_is_refused_in_whatever_case(tmp_path: Path, pack: Pack) -> None:
    with pytest.raises(InputError, match="two members"):
        contents(pack(tmp_path / "archive", {"data.txt": b"one", "Data.txt": b"two"}))


@PACKERS
def test_too_many_members_are_refused(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {str(number): b"" for number in range(11)})
    with pytest.raises(InputError, match="more than 10 members"):
        contents(archive, Caps(members=10))
    assert len(contents(archive, Caps(members=11))) == 11


@PACKERS
def test_a_bomb_is_refused_without_the_memory_it_asks_for(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {"zeros": bytes(64 << 20)})
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="larger than"):
            contents(archive)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        extract(archive, tmp_path / "out", Caps(bytes=1000))
    assert {path.name for path in tmp_path.iterdir()} == {"archive"}


def test_a_tar_header_of_any_size_is_not_read_whole(tmp_path: Path) -> None:
    info = tarfile.TarInfo("header")
    info.type = tarfile.XHDTYPE
    info.size = 64 << 20
    archive = tmp_path / "archive"
    with gzip.open(archive, "wb") as file:
        file.write(info.tobuf())
        file.write(bytes(info.size))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="larger than"):
            contents(archive, Caps(bytes=1 << 20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "archive", {"a": b"content"})
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(raw)
    with pytest.raises(InputError, match="encrypted"):
        contents(archive)


@PACKERS
def test_a_damaged_archive_is_one_error_and_leaves_nothing(tmp_path: Path, pack: Pack) -> None:
    whole = pack(tmp_path / "archive", {"a": bytes(range(256)) * 40}).read_bytes()
    assert contents(tmp_path / "archive")
    for at in range(0, len(whole), 7):
        (tmp_path / "archive").write_bytes(whole[:at])
        with pytest.raises(InputError):
            extract(tmp_path / "archive", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"archive"}


def test_a_zip_with_a_flipped_byte_never_gives_other_content(tmp_path: Path) -> None:
    content = {"a": bytes(range(256))}
    whole = zipped(tmp_path / "archive", content, zipfile.ZIP_STORED).read_bytes()
    for at, flip in product(range(len(whole)), (0x01, 0x20, 0x80, 0xFF)):
        (tmp_path / "archive").write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
        try:
            found = contents(tmp_path / "archive")
        except InputError:
            continue
        assert list(found.values()) in ([content["a"]], [])


def test_a_folder_that_exists_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        extract(zipped(tmp_path / "archive", PLAIN), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_one_folder_of_an_archive_comes_out_without_the_rest(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "archive.zip", PLAIN)
    extract(archive, tmp_path / "out", inside="name")
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["a.txt", "b.txt", "raw"]
    for absent in ("other", "readme", "name/raw/a.txt"):
        with pytest.raises(InputError, match=f"has no folder '{absent}'"):
            extract(archive, tmp_path / "again", inside=absent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive.zip", "out"]

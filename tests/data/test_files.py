"""Raw files are found where they lie, in the order that is promised, and only with the right content."""

from __future__ import annotations

import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engnn.data import files
from engnn.data.source import File, Packed
from engnn.errors import InputError

CONTENT = b"some raw data"
FILE = File("family/name/raw.bin", hashlib.sha256(CONTENT).hexdigest())


def put(root: Path, content: bytes = CONTENT) -> Path:
    path = root / FILE.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("ENGNN_DATA", str(tmp_path / "named"))
    return tmp_path / "named"


def test_the_named_root_comes_before_the_one_beside_the_folder_and_that_before_the_cache(
    named: Path, cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    places = [put(cache_folder / "raw"), put(tmp_path / "shared" / "data"), put(named)]
    for place in reversed(places):
        assert files.locate(FILE).samefile(place)
        place.unlink()
    assert files.find(FILE) is None


def test_the_folder_beside_the_checkout_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(__file__).parents[3] / "shared" / "data"
    if not beside.is_dir():
        pytest.skip("there is no folder of raw data")
    monkeypatch.delenv("ENGNN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert any(root.samefile(beside) for root in files.roots() if root.exists())


def test_a_missing_file_is_named_with_its_digest_and_every_place_it_may_be_put(named: Path, cache_folder: Path) -> None:
    with pytest.raises(files.MissingFile) as error:
        files.locate(FILE)
    for said in (FILE.path, FILE.sha256, str(named), str(cache_folder / "raw"), "ENGNN_DATA"):
        assert said in str(error.value)


def test_a_file_with_other_content_is_refused_and_left_as_it_is(named: Path) -> None:
    path = put(named, b"some raw dat\xe0")
    with pytest.raises(InputError, match="damaged, or another version") as error:
        files.locate(FILE)
    assert str(path) in str(error.value)
    assert path.read_bytes() == b"some raw dat\xe0"


def test_a_file_without_a_known_digest_is_taken_as_it_is(named: Path) -> None:
    path = put(named, b"anything")
    assert files.locate(File(FILE.path)) == path


def test_a_data_root_that_does_not_exist_is_an_error_rather_than_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGNN_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(InputError, match="mistyped is not a folder"):
        files.roots()


def test_nothing_is_downloaded_where_that_is_forbidden(
    named: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGNN_OFFLINE", "1")
    published = File(FILE.path, FILE.sha256, "http://127.0.0.1:9/raw.bin")
    with pytest.raises(files.MissingFile, match="published at http"):
        files.fetch(published)
    assert not cache_folder.exists()


PACKED = Packed("family/name.zip", "https://example.org/name.zip", inside="top", folder="family/name")
INSIDE = [File(f"family/name/{name}", packed=PACKED) for name in ("raw/a.bin", "b.bin")]


def pack(root: Path, *names: str) -> Path:
    path = root / PACKED.path
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, CONTENT)
    return path


def test_an_archive_that_was_put_there_is_unpacked_once_into_the_cache(named: Path, cache_folder: Path) -> None:
    pack(named, "top/raw/a.bin", "top/b.bin")
    with ThreadPoolExecutor(4) as several:
        found = list(several.map(files.fetch, INSIDE * 4))
    assert found == [cache_folder / "raw" / file.path for file in INSIDE] * 4
    assert {path.read_bytes() for path in found} == {CONTENT}
    assert [path.name for path in named.rglob("*")] == ["family", "name.zip"]


def test_a_missing_file_of_an_archive_is_named_with_the_archive_and_its_address(named: Path) -> None:
    for get in (files.locate, files.fetch):
        with pytest.raises(
            files.MissingFile, match=r"raw/a\.bin is not here.*family/name\.zip there, published at https:"
        ):
            get(INSIDE[0])
    pack(named, "top/b.bin")
    for _ in range(2):
        with pytest.raises(files.MissingFile, match=r"raw/a\.bin is not here"):
            files.fetch(INSIDE[0])
    assert files.fetch(INSIDE[1]).read_bytes() == CONTENT


@pytest.mark.parametrize("names", [["top/../../outside"], ["other/a.bin"], ["top/a.bin", "top/A.bin"]])
def test_a_hostile_or_wrong_archive_is_refused_and_leaves_nothing(
    names: list[str], named: Path, cache_folder: Path
) -> None:
    pack(named, *names)
    with pytest.raises(InputError, match=r"name\.zip"):
        files.fetch(INSIDE[0])
    assert [path.name for path in cache_folder.rglob("*") if path.is_file()] == [".lock"]

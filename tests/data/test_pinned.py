from __future__ import annotations

import re
from pathlib import Path

import pytest

from engnn.data import catalog, files, pinned

SHELF = Path(pinned.__file__).with_name("pinned.sha256")


def test_every_line_is_one_that_sha256sum_reads_and_no_path_is_there_twice() -> None:
    lines = SHELF.read_text(encoding="ascii").splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  [^/ ]\S+", line) for line in lines)
    assert len({line[66:] for line in lines}) == len(lines)


def test_every_line_is_of_a_file_that_some_dataset_has_and_every_such_file_has_that_digest() -> None:
    declared = {file.path: file.sha256 for source in catalog.sources().values() for file in source.files}
    known = {line[66:]: line[:64] for line in SHELF.read_text(encoding="ascii").splitlines()}
    assert known.items() <= declared.items()


def test_the_files_that_are_here_have_the_digests_that_are_written_down(data_root: Path) -> None:
    present = [
        (path, digest)
        for digest, path in (line.split("  ") for line in SHELF.read_text(encoding="ascii").splitlines())
        if (data_root / path).is_file()
    ]
    if not present:
        pytest.skip("data: cora is not here")
    assert [path for path, digest in present if files.sha256(data_root / path) != digest] == []


def test_an_unknown_path_has_no_digest() -> None:
    with pytest.raises(KeyError):
        pinned.pinned("Planetoid/Cora/raw/ind.cora.x")

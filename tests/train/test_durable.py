"""Files that are whole or not there, and lines that several processes add."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from engnn.errors import InputError
from engnn.train import durable

PROGRAM = Path(__file__).with_name("appending.py")


def test_several_processes_add_whole_lines(engnn: Any, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    writers = [engnn.start(path, writer, program=PROGRAM) for writer in range(4)]
    assert [writer.end().code for writer in writers] == [0, 0, 0, 0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(len(line["text"]) == 10_000 for line in lines)
    for writer in range(4):  # all of each, in the order in which it wrote them
        assert [line["number"] for line in lines if line["writer"] == writer] == list(range(50))


def test_half_a_line_of_a_dead_writer_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    durable.append_line(path, '{"a": 1}')
    with path.open("a") as file:
        file.write('{"a": 2, "b')
    durable.append_line(path, '{"a": 3}')
    assert path.read_text().splitlines() == ['{"a": 1}', '{"a": 2, "b', '{"a": 3}']


def test_a_line_for_which_there_is_no_room_is_not_there_at_all(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    durable.append_line(path, "first")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(
            InputError, match=r"records.jsonl cannot be written \(File too large\): 5,000 bytes are needed"
        ):
            durable.append_line(path, "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "first\n"


def test_a_file_is_replaced_at_once_or_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    durable.write(path, b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(InputError, match="What was saved before is intact"):
            durable.write(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]
    durable.write(path, b"after")
    assert path.read_bytes() == b"after"


@pytest.mark.parametrize("where", ["no/such/folder/file", "a-file/below/it"])
def test_a_place_that_cannot_be_written_is_named(where: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written \((No such file|Not a directory).*are free on that disk"):
        durable.write(tmp_path / where, b"x")

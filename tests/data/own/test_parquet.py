"""Parquet gives the values that its columns hold, whichever of its types they have, and no id is rounded."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engnn.data import own
from engnn.data.own.parquet import read_parquet
from engnn.errors import InputError

ENDS = {"source": ["a", "b", "c"], "target": ["b", "c", "d"]}


def write(folder: Path, name: str = "edges", **columns: object) -> Path:
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (pa.array([1, None, 3], pa.int8()), [1.0, np.nan, 3.0]),
        (pa.array([1.5, None, 3.0], pa.float32()), [1.5, np.nan, 3.0]),
        (pa.array([1.5, None, 3.0], pa.float16()), [1.5, np.nan, 3.0]),
        (pa.array([True, None, False]), ["true", "", "false"]),
        (pa.array(["x", None, "z"]), ["x", "", "z"]),
        (pa.array(["x", None, "z"], pa.large_string()), ["x", "", "z"]),
        (pa.array(["x", None, "z"], pa.string_view()), ["x", "", "z"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", "", "x"]),
        (pa.array([7, None, 7]).dictionary_encode(), [7.0, np.nan, 7.0]),
        (pa.nulls(3), ["", "", ""]),
    ],
)
def test_a_column_of_any_plain_type_is_numbers_or_text(values: pa.Array, read: list[object], tmp_path: Path) -> None:
    found = read_parquet(write(tmp_path, **ENDS, km=values), "edges").columns["km"]
    np.testing.assert_equal(np.asarray(found), np.asarray(read))


def test_ids_that_are_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    large = [2**53 + 1, 2**53, 2**63 - 1, -5]
    path = write(tmp_path, source=pa.array(large, pa.int64()), target=pa.array([2**64 - 1, 0, 1, 2], pa.uint64()))
    columns = read_parquet(path, "edges").columns
    assert columns == {"source": list(map(str, large)), "target": [str(2**64 - 1), "0", "1", "2"]}


def test_labels_that_are_whole_numbers_are_classes(tmp_path: Path) -> None:
    write(tmp_path, **ENDS)
    write(tmp_path, "nodes", id=["a", "b", "c", "d"], label=pa.array([3, None, 7, 3]))
    dataset = own.read(tmp_path)
    assert dataset.classes == ("3", "7")
    assert dataset.y is not None
    assert dataset.y.tolist() == [0, -1, 1, 0]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"source": [1.0, 2.0, 3.0]}, ["column 'source'", "floating-point", "save them as text"]),
        ({"km": [1.0, float("nan"), 2.0]}, ["column 'km', row 2 is nan", "null"]),
        ({"km": [1.0, float("inf"), 2.0]}, ["column 'km', row 2 is inf"]),
        ({"km": [[1], [2], [3]]}, ["column 'km'", "list"]),
        ({"km": [{"a": 1}] * 3}, ["column 'km'", "struct"]),
        ({"when": [datetime.date(2020, 1, 1)] * 3}, ["column 'when'", "date32", "take it out"]),
        ({"raw": [b"a", b"b", b"c"]}, ["column 'raw'", "binary"]),
        ({"source": ["a", None, "c"]}, ["row 2", "source", "blank"]),
    ],
)
def test_a_column_of_another_kind_is_refused_by_its_name(
    column: dict[str, object], said: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path, **(ENDS | column))
    with pytest.raises(InputError) as error:
        own.read(tmp_path, task="link")
    assert [word for word in (str(path), *said) if word not in str(error.value)] == [], error.value


def test_a_few_bytes_that_stand_for_a_billion_cells_are_refused(tmp_path: Path) -> None:
    rows = (1 << 28) // 4 + 1
    one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array(["a"]))
    table = pa.table({"source": one, "target": one, "a": one, "b": one})
    pq.write_table(table, tmp_path / "edges.parquet", compression="zstd")
    assert (tmp_path / "edges.parquet").stat().st_size < 1 << 20
    with pytest.raises(InputError, match=r"holds 67108865 rows of 4 columns.*Make it smaller"):
        own.read(tmp_path)


def test_without_pyarrow_the_extra_to_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, **ENDS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'engnn\[files\]', or save it as CSV"):
        own.read(tmp_path)


def test_every_truncation_and_every_flipped_byte_is_data_or_one_error(tmp_path: Path) -> None:
    path = write(tmp_path, **ENDS, km=[1.0, 2.0, 3.0])
    whole = path.read_bytes()
    changed = [whole[:at] for at in range(0, len(whole), 7)]
    changed += [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(0, len(whole), 3)]
    for content in changed:
        path.write_bytes(content)
        try:
            dataset = own.read(tmp_path, task="link")
        except InputError:
            continue
        assert len(dataset.node_ids) <= 6

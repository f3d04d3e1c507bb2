"""Parquet files in place of CSV; pyarrow, which reads them, comes with `pip install 'engnn[files]'`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from engnn.data.own.stream import MAX_BYTES, regular_size, unreadable
from engnn.data.own.table import REQUIRED, Kind, Table, Values, as_texts, make_table
from engnn.errors import InputError

MAX_CELLS = 1 << 28  # a run-length code can make a billion cells out of a few bytes


def read_parquet(path: Path, kind: Kind) -> Table:
    """The table in a Parquet file. A row's place is its number, from 1."""
    regular_size(path)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install 'engnn[files]', or save it as CSV") from error
    try:
        with pq.ParquetFile(path) as file:
            facts = file.metadata
            size = sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
            if facts.num_rows * facts.num_columns > MAX_CELLS or size > MAX_BYTES:
                raise InputError(
                    f"{path} holds {facts.num_rows} rows of {facts.num_columns} columns, {size} bytes unpacked: more "
                    f"than {MAX_CELLS} cells or {MAX_BYTES} bytes are not read. Make it smaller"
                )
            data = file.read(use_threads=False)
        data.validate(full=True)  # that text is UTF-8, among other things
        names = data.column_names
    except PermissionError as error:
        raise unreadable(path, error) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it is not a sound Parquet file ({error}). Write it again.") from error
    ids = {*REQUIRED[kind], "graph"}
    columns = [
        (name, _values(pa, column, f"{path}, column {name!r}", name in ids, name in ("label", "split")))
        for name, column in zip(names, data.columns, strict=True)
    ]
    return make_table(kind, str(path), columns, data.num_rows, lambda row: f"{path}, row {row + 1}")


def _values(pa: Any, column: Any, what: str, of_ids: bool, as_text: bool) -> Values:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(pa, column.cast(kind.value_type), what, of_ids, as_text)
    if pa.types.is_floating(kind):
        if of_ids:
            raise InputError(f"{what} holds ids as floating-point numbers, which round large ones: save them as text")
        wrong = np.flatnonzero(~np.isfinite(column.fill_null(0.0).to_numpy()))
        if len(wrong):
            value = column[int(wrong[0])].as_py()
            raise InputError(
                f"{what}, row {wrong[0] + 1} is {value}: give a finite number, or null where it is missing"
            )
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
    ):
        raise InputError(f"{what} is of type {kind}: save it as text or numbers, or take it out")
    if of_ids or as_text or not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return as_texts(column.to_pylist(), lambda row: f"{what}, row {row + 1}")
    numbers: np.ndarray[Any, np.dtype[np.float64]] = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
    return numbers

"""CSV files: UTF-8, commas, a header, RFC 4180 quotes; every cell stays the text that it is."""

from __future__ import annotations

import csv
from array import array
from pathlib import Path
from typing import Final

from engnn.data.own.stream import opened, text_lines
from engnn.data.own.table import Kind, Table, make_table
from engnn.errors import InputError

ROWS_AT_ONCE: Final = 1 << 9  # so few lists live at once that the garbage collector is hardly ever called


def read_csv(path: Path, kind: Kind) -> Table:
    """The table in a CSV file (or `.csv.gz`). A row's place is the line on which it begins, as an editor counts."""
    known: dict[str, str] = {}  # a node's id is on many rows, and in memory once
    with opened(path) as file:
        reader = csv.reader(text_lines(file, path), strict=True)
        try:
            header = next(reader, [])
            _check_header(header, path)
            columns: list[list[str]] = [[] for _ in header]
            shared = [known if name in ("source", "target") else None for name in header]
            starts = array("L")
            rows: list[list[str]] = []
            start = reader.line_num + 1
            for row in reader:
                if len(row) == len(header):
                    rows.append(row)
                    starts.append(start)
                elif row:
                    raise InputError(
                        f"{path}, line {start} has {len(row)} fields, and the header has {len(header)}: "
                        f"mend the line {row!r:.100} (a field with a comma in it needs double quotes around it)"
                    )
                start = reader.line_num + 1
                if len(rows) == ROWS_AT_ONCE:
                    _append(columns, rows, shared)
            _append(columns, rows, shared)
        except csv.Error as error:
            if "new-line" in str(error):
                raise InputError(
                    f"{path}, line {reader.line_num} has a carriage return within: save the file with the line ends of "
                    "this system (LF or CR LF), or put the field in double quotes"
                ) from error
            raise InputError(
                f"{path}, line {reader.line_num}: {error}. Mend the quotes: a field with a comma or a quote in it is "
                'written in double quotes, and a quote in it twice: "a ""b"", c"'
            ) from error
    return make_table(
        kind, str(path), zip(header, columns, strict=True), len(starts), lambda row: f"{path}, line {starts[row]}"
    )


def _append(columns: list[list[str]], rows: list[list[str]], shared: list[dict[str, str] | None]) -> None:
    for column, known, values in zip(columns, shared, zip(*rows, strict=True), strict=False):
        column.extend(values if known is None else map(known.setdefault, values, values))
    rows.clear()


def _check_header(header: list[str], path: Path) -> None:
    if not header:
        raise InputError(f"{path}, line 1 is blank: the first line must name the columns")
    if len(header) == 1:
        for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if separator in header[0]:
                raise InputError(
                    f"{path}, line 1: the columns are separated by {called} ({header[0]!r:.100}): use commas"
                )

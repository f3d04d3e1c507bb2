"""A folder of tables: edges.csv and, where there are any, nodes.csv, graphs.csv, links.csv and subgraphs.csv."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from engnn.data.own.csv_files import read_csv
from engnn.data.own.parquet import read_parquet
from engnn.data.own.table import REQUIRED, Kind, Table, Tables
from engnn.errors import InputError

READERS = {".csv": read_csv, ".csv.gz": read_csv, ".parquet": read_parquet}


def read_folder(folder: Path) -> tuple[Tables, tuple[str, ...]]:
    """The tables in a folder, and what in it was not read."""
    try:
        listed = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}): make it readable") from error
    tables: Tables = {}
    for kind in REQUIRED:
        names = [kind + suffix for suffix in READERS if kind + suffix in listed]
        if len(names) > 1:
            raise InputError(f"{folder} has both {names[0]} and {names[1]}: take one of them away")
        if names:
            tables[kind] = _read(folder / names[0], kind)
    unread = [name for name in listed if any(name.lower().endswith(suffix) for suffix in READERS)]
    unread = [name for name in unread if name.partition(".")[0] not in tables]
    for name in unread:
        if like := get_close_matches(name.partition(".")[0].lower(), set(REQUIRED) - set(tables), n=1, cutoff=0.75):
            raise InputError(f"{folder / name} is not read under this name; did you mean {like[0]}.csv? Rename it")
    if "edges" not in tables:
        raise InputError(
            f"{folder} has no edges.csv (nor edges.parquet); in it are: {', '.join(listed[:10]) or 'no files'}. Write "
            "the edges there, with the header source,target"
        )
    return tables, (f"not read: {', '.join(unread)}",) if unread else ()


def _read(path: Path, kind: Kind) -> Table:
    suffix = next(suffix for suffix in READERS if path.name.endswith(suffix))
    return READERS[suffix](path, kind)

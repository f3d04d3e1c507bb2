"""The user's own data, from files or from memory, checked before anything is trained on them.

`read` takes a folder of tables, or a GraphML, node-link JSON or `.npz` file; the `from_…` functions take what is in
memory. All of them end in `assemble`, so that the same data give the same dataset whichever way they come.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engnn.data.dataset import Dataset, Task
from engnn.data.own import arrays
from engnn.data.own.assemble import assemble
from engnn.data.own.convert import from_frames, from_networkx, from_pyg, from_scipy
from engnn.data.own.folder import read_folder
from engnn.data.own.graphml import read_graphml
from engnn.data.own.node_link import read_node_link
from engnn.data.own.npz import read_npz
from engnn.data.own.table import Tables
from engnn.errors import InputError

__all__ = ["from_frames", "from_networkx", "from_pyg", "from_scipy", "read"]

READERS: Final[dict[str, Callable[[Path], Tables]]] = {
    ".graphml": read_graphml,
    ".graphml.gz": read_graphml,
    ".json": read_node_link,
    ".json.gz": read_node_link,
    ".npz": lambda path: arrays.tables_of([read_npz(path)], str(path)),
}
PICKLED: Final = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".ckpt", ".bin")
PACKED: Final = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".7z", ".rar", ".bz2", ".xz", ".zst")


def read(path: Path, *, task: Task | None = None, seed: int = 0, scheme: Mapping[str, Any] | None = None) -> Dataset:
    """The dataset in a folder of tables or in one file; nothing is written, and what is wrong is an `InputError`.

    `task` says what to learn where the files leave it open, and `seed` draws the split where they give none. With the
    `scheme` that was saved with a model the features are made as they were for it, and labels may be absent.
    """
    name = os.path.basename(os.path.abspath(path))  # unlike Path.resolve it follows no link
    if os.path.isdir(path):  # unlike Path.is_dir it takes any path
        tables, notes = read_folder(path)
    else:
        suffix, reader = _reader(path)
        name = name.removesuffix(suffix)
        tables, notes = reader(path), ()
    dataset = assemble(str(path), tables, task=task, seed=seed, scheme=scheme)
    return replace(dataset, name=name, source=str(path), notes=(*dataset.notes, *notes))


def _reader(path: Path) -> tuple[str, Callable[[Path], Tables]]:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz", ".parquet")):
        raise InputError(f"{path} is one table: give its folder ({path.parent}), with the edges in edges.csv")
    if name.endswith(PICKLED):
        raise InputError(
            f"{path} is a pickled file, which can run anything when it is read, and is not: save the graph as "
            ".npz, CSV or GraphML where you trust it, or load it in Python yourself and use engnn.data.own.from_pyg"
        )
    if name.endswith(PACKED):
        raise InputError(f"{path} is an archive, and none is unpacked: unpack it, and give the folder")
    for suffix, reader in READERS.items():
        if name.endswith(suffix):
            return path.name[len(name) - len(suffix) :], reader
    if not os.path.exists(path):
        raise InputError(f"{path} is not there: give a folder with edges.csv, or one of: {', '.join(READERS)}")
    raise InputError(f"{path}: files of this kind are not read: give a folder with edges.csv, or {', '.join(READERS)}")

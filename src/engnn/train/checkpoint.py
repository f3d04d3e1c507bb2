"""Checkpoints: the whole state of a run, which is never seen half written.

`checkpoint/12/` holds tensors and JSON, each with its digest in the pointer `checkpoint/latest`. A new folder is
written and synced first, then the pointer is put in its place at once, then the folder before is removed: whenever the
writer dies, the pointer names a whole checkpoint. Nothing that is read is executed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from engnn.errors import InputError
from engnn.train import durable

POINTER, TENSORS, STATE = "latest", "tensors.safetensors", "state.json"
Tensors = dict[str, Tensor]


def save(folder: Path, tensors: Tensors, state: dict[str, Any]) -> None:
    """Save a checkpoint; the one before is kept until this one is in place."""
    contents = {TENSORS: packed(tensors), STATE: json.dumps(state, allow_nan=False).encode()}
    with durable.storage(folder, sum(map(len, contents.values()))):
        folder.mkdir(parents=True, exist_ok=True)
        clean(folder)
        found = _pointer(folder)
        name = str(int(found["name"]) + 1 if found else 1)
        new = folder / name
        try:
            new.mkdir()
            for file, content in contents.items():
                durable.write_through(new / file, content)
            durable.sync(new)
            durable.sync(folder)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            raise
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    durable.write_json(folder / POINTER, {"name": name, "sha256": digests})
    clean(folder)


def load(folder: Path) -> tuple[Tensors, dict[str, Any]] | None:
    """The latest checkpoint; None where there is none yet."""
    found = _pointer(folder)
    if found is None:
        return None
    contents = {}
    for file, digest in found["sha256"].items():
        path = folder / found["name"] / file
        try:
            contents[file] = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"{path} cannot be read ({error.strerror}), so the run cannot go on: start it anew"
            ) from error
        if hashlib.sha256(contents[file]).hexdigest() != digest:
            raise InputError(f"{path} is damaged (its checksum is wrong), so the run cannot go on: start it anew")
    return unpacked(contents[TENSORS], folder), json.loads(contents[STATE])


def clean(folder: Path) -> None:
    """Remove what writers that died have left, and the checkpoints before the latest."""
    found = _pointer(folder)
    for path in folder.iterdir():
        if path.is_dir() and (found is None or path.name != found["name"]):
            shutil.rmtree(path)
        elif path.name.endswith(durable.TEMPORARY):
            path.unlink()


def packed(tensors: Tensors) -> bytes:
    """Tensors as the bytes of a safetensors file."""
    return safetensors.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def unpacked(content: bytes, where: Path) -> Tensors:
    """The tensors in the bytes of a safetensors file."""
    try:
        return safetensors.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{where} holds no readable tensors ({error}): it is damaged") from error


def _pointer(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / POINTER).read_text())
        if set(found["sha256"]) != {TENSORS, STATE} or not str(found["name"]).isdecimal():
            raise ValueError("it names no checkpoint")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / POINTER} is damaged ({error}), so the run cannot go on: start it anew") from error
    return dict(found)

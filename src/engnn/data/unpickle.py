"""Pickle files read without running anything in them.

Planetoid's `ind.*` files and OGB's `.pt` splits are pickles: programs for a machine that may call any function. This is
another machine. It knows the few instructions that data need, looks no name up (a name is a key of the table `_CALLS`,
at the end), and what it makes is a tree of dicts, lists and tuples whose leaves are numbers, text, arrays, tensors and
`Sparse` matrices. No file makes it hold more than a few times the file's own size, or work for long.
"""

from __future__ import annotations

import io
import os
import pickle  # the names of the instructions; nothing here loads with it
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engnn.errors import InputError

MAX_BYTES = 4 << 30
MAX_INSTRUCTIONS = 2_000_000  # the largest file known here, PubMed's graph, has 200,000
MAX_DEPTH = 32


@dataclass(frozen=True)
class Sparse:
    """The parts of a scipy CSR or CSC matrix: `indices` are columns in a CSR matrix and rows in a CSC one."""

    format: str
    data: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    indptr: np.ndarray[Any, Any]
    shape: tuple[int, int]


def load_pickle(path: Path) -> object:
    """The value in a pickle file (Python 2's included: its byte strings are read as Latin-1 text)."""
    data = _read(path)
    try:
        machine = _Machine(data)
        value = machine.value()
        if machine.at != len(data):
            raise _Refused("there is more after its end")
    except _Refused as error:
        raise _error(path, error) from error
    return value


def load_torch(path: Path) -> object:
    """The value in a file of `torch.save`, in today's zip layout or the one before it."""
    data = _read(path)
    try:
        return _load_zip(data) if data.startswith(b"PK\x03\x04") else _load_legacy(data)
    except _Refused as error:
        raise _error(path, error) from error


class _Refused(Exception):
    """Why a file is not read."""


def _error(path: Path, why: object) -> InputError:
    return InputError(
        f"{path}: {why}. engnn reads only plain data from pickled files and runs nothing in them; "
        "get the file again from its official place, or convert it to .npz where you trust it."
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if (size := os.fstat(file.fileno()).st_size) > MAX_BYTES:
                raise _error(path, f"its {size} bytes are more than {MAX_BYTES}")
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from error


def _load_legacy(data: bytes) -> object:
    storages: dict[str, np.ndarray[Any, Any]] = {}
    budget = _Budget(2 * len(data))

    def storage(key: str, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        if key not in storages:
            budget.take(count * dtype.itemsize)
            storages[key] = np.empty(count, dtype)
        return storages[key]

    head = _Machine(data)
    match [head.value() for _ in ("magic number", "version", "system")]:
        case [int(0x1950A86A20F9469CFC6C), int(1001), {"little_endian": True}]:
            pass
        case _:
            raise _Refused("it is not a file of torch.save, or one from a big-endian machine")
    body = _Machine(data, head.at, budget, storage)
    value = body.value()
    tail = _Machine(data, body.at)
    keys = tail.value()
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
        raise _Refused("its list of storages does not match its tensors")
    at = tail.at
    for key in keys:
        array = storages[key]
        if data[at : at + 8] != struct.pack("<q", array.size) or len(data) < at + 8 + array.nbytes:
            raise _Refused(f"storage {key!r} is cut short or has another length than its tensors say")
        array[:] = np.frombuffer(data, array.dtype, array.size, at + 8)
        at += 8 + array.nbytes
    return value


def _load_zip(data: bytes) -> object:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _load_members(archive, len(data))
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise _Refused(f"its zip archive is damaged ({error})") from error


def _load_members(archive: zipfile.ZipFile, size: int) -> object:
    budget = _Budget(3 * size)  # once more than of a plain pickle, since the pickle is itself taken out of the file
    names = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(names) != 1:
        raise _Refused("it is not a file of torch.save: there is no single data.pkl in it")
    folder = names[0].removesuffix("data.pkl")

    def member(name: str) -> bytes:
        info = archive.getinfo(folder + name)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > size:
            raise _Refused(f"its member {name} is compressed, which torch.save never does")
        budget.take(info.file_size)
        return archive.read(info)

    storages: dict[str, np.ndarray[Any, Any]] = {}

    def storage(key: str, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        if key not in storages:
            data = member(f"data/{key}")
            if len(data) != count * dtype.itemsize:
                raise _Refused(f"storage {key!r} has another length than its tensors say")
            storages[key] = np.frombuffer(data, dtype).copy()
        return storages[key]

    if folder + "byteorder" in archive.namelist() and member("byteorder") != b"little":
        raise _Refused("it was not written on a little-endian machine")
    return _Machine(member("data.pkl"), 0, budget, storage).value()


class _Budget:
    """How many more bytes of arrays a file may ask for: data are in the file, so its size bounds them."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _Refused("it asks for more memory than its size can hold")


@dataclass(frozen=True, eq=False)
class _Name:
    """A name that the file mentions, and what calling it does here."""

    path: str
    call: Callable[[_Machine, tuple[Any, ...]], object] | None = None
    new: Callable[[], _Unfinished] | None = None
    dtype: str = ""


@dataclass(eq=False)
class _Unfinished:
    """A value whose second half follows in a BUILD instruction, and the memo's keys that must then be put right."""

    finish: Callable[[_Machine, Any], object]
    keys: list[int] = field(default_factory=list)


_Storage = Callable[[str, np.dtype[Any], int], np.ndarray[Any, Any]]
_SCALARS = (type(None), bool, int, float, str, bytes)
_VALUES = (*_SCALARS, np.ndarray, np.generic, torch.Tensor, Sparse)

_FIXED = {
    ord(pickle.BININT): "<i",
    ord(pickle.BININT1): "<B",
    ord(pickle.BININT2): "<H",
    ord(pickle.BINFLOAT): ">d",
}
_TEXT = {
    ord(pickle.SHORT_BINSTRING): ("<B", "latin-1"),
    ord(pickle.BINSTRING): ("<i", "latin-1"),
    ord(pickle.SHORT_BINUNICODE): ("<B", "utf-8"),
    ord(pickle.BINUNICODE): ("<I", "utf-8"),
    ord(pickle.BINUNICODE8): ("<Q", "utf-8"),
}
_BYTES = {ord(pickle.SHORT_BINBYTES): "<B", ord(pickle.BINBYTES): "<I", ord(pickle.BINBYTES8): "<Q"}
_CONSTANTS = {ord(pickle.NONE): None, ord(pickle.NEWTRUE): True, ord(pickle.NEWFALSE): False}
_TUPLES = {ord(pickle.EMPTY_TUPLE): 0, ord(pickle.TUPLE1): 1, ord(pickle.TUPLE2): 2, ord(pickle.TUPLE3): 3}
_PUT = {ord(pickle.BINPUT): "<B", ord(pickle.LONG_BINPUT): "<I"}
_GET = {ord(pickle.BINGET): "<B", ord(pickle.LONG_BINGET): "<I"}


class _Machine:
    """Reads one pickle after another from `data`, starting `at` a byte."""

    def __init__(
        self, data: bytes, at: int = 0, budget: _Budget | None = None, storage: _Storage | None = None
    ) -> None:
        self.data = data
        self.at = at
        self.budget = budget or _Budget(2 * len(data))
        self.storage = storage
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each mark
        self.memo: dict[int, Any] = {}

    def value(self) -> object:
        """The next pickle's value."""
        self.stack, self.below, self.memo = [], [], {}
        start = self.at
        try:
            for _ in range(MAX_INSTRUCTIONS):
                start = self.at
                code = self.bytes(1)[0]
                if code == ord(pickle.STOP):
                    if len(self.stack) != 1 or self.below:
                        raise _Refused("its end leaves more than one value")
                    return _tree(self.stack.pop())
                self.step(code)
        except _Refused as error:
            raise _Refused(f"at byte {start}, {error}") from error
        except (IndexError, ValueError, TypeError, RuntimeError) as error:  # also of arrays where numbers should be
            raise _Refused(f"at byte {start}, the pickle is damaged ({error})") from error
        raise _Refused(f"it has more than {MAX_INSTRUCTIONS} instructions")

    def bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise _Refused("it is cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self.bytes(struct.calcsize(layout)))[0]

    def line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + 200)
        if end < 0:
            raise _Refused("a name is cut short")
        return self.bytes(end + 1 - self.at)[:-1].decode()

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.below.pop()
        return items

    def step(self, code: int) -> None:
        """One instruction."""
        push = self.stack.append
        if code in _FIXED:
            push(self.number(_FIXED[code]))
        elif code in _TEXT:
            layout, encoding = _TEXT[code]
            push(self.bytes(self.number(layout)).decode(encoding))
        elif code in _BYTES:
            push(self.bytes(self.number(_BYTES[code])))
        elif code in _CONSTANTS:
            push(_CONSTANTS[code])
        elif code in _PUT:
            self.remember(self.number(_PUT[code]))
        elif code == ord(pickle.MEMOIZE):
            self.remember(len(self.memo))
        elif code in _GET:
            push(self.recall(self.number(_GET[code])))
        elif code in _TUPLES:
            count = _TUPLES[code]
            if count > len(self.stack):
                raise _Refused("the pickle is damaged (the stack is empty)")
            items = self.stack[len(self.stack) - count :]
            del self.stack[len(self.stack) - count :]
            push(tuple(items))
        elif code == ord(pickle.MARK):
            self.below.append(self.stack)
            self.stack = []
        elif code == ord(pickle.TUPLE):
            items = self.since_mark()
            self.stack.append(tuple(items))
        elif code == ord(pickle.EMPTY_LIST):
            push([])
        elif code == ord(pickle.EMPTY_DICT):
            push({})
        elif code == ord(pickle.APPEND):
            self.extend([self.stack.pop()])
        elif code == ord(pickle.APPENDS):
            self.extend(self.since_mark())
        elif code == ord(pickle.SETITEM):
            value = self.stack.pop()
            self.update([self.stack.pop(), value])
        elif code == ord(pickle.SETITEMS):
            self.update(self.since_mark())
        elif code == ord(pickle.LONG1):
            push(int.from_bytes(self.bytes(self.number("<B")), "little", signed=True))
        elif code == ord(pickle.PROTO):
            if self.number("<B") > 5:
                raise _Refused("its pickle protocol is newer than 5")
        elif code == ord(pickle.FRAME):
            self.number("<Q")  # a hint for buffered reading
        elif code == ord(pickle.GLOBAL):
            push(self.name(self.line(), self.line()))
        elif code == ord(pickle.STACK_GLOBAL):
            name, module = self.stack.pop(), self.stack.pop()
            push(self.name(module, name))
        elif code == ord(pickle.REDUCE):
            arguments, callee = self.stack.pop(), self.stack.pop()
            if not isinstance(callee, _Name) or callee.call is None or not isinstance(arguments, tuple):
                raise _Refused(f"it would call {_shown(callee)}")
            self.stack.append(callee.call(self, arguments))
        elif code == ord(pickle.NEWOBJ):
            arguments, callee = self.stack.pop(), self.stack.pop()
            if not isinstance(callee, _Name) or callee.new is None or arguments != ():
                raise _Refused(f"it would make {_shown(callee)}")
            self.stack.append(callee.new())
        elif code == ord(pickle.BUILD):
            state, unfinished = self.stack.pop(), self.stack.pop()
            if not isinstance(unfinished, _Unfinished):
                raise _Refused(f"it would set the state of {_shown(unfinished)}")
            value = unfinished.finish(self, state)
            self.stack.append(value)
            self.memo.update(dict.fromkeys(unfinished.keys, value))
        elif code == ord(pickle.BINPERSID) and self.storage is not None:
            self.stack.append(_stored(self.storage, self.stack.pop()))
        else:
            raise _Refused(f"it has the instruction {bytes([code])!r}, which data do not need")

    def remember(self, key: int) -> None:
        top = self.stack[-1]
        self.memo[key] = top
        if isinstance(top, _Unfinished):
            top.keys.append(key)

    def recall(self, key: int) -> Any:
        if key not in self.memo:
            raise _Refused("the pickle is damaged (it recalls what it never stored)")
        value = self.memo[key]
        flat = not isinstance(value, (list, dict, _Unfinished))
        if isinstance(value, tuple):
            flat = all(isinstance(item, _SCALARS) for item in value)
        if not flat:  # a container in two places could hold itself, or take exponentially long to walk
            raise _Refused("it uses one container in two places")
        return value

    def extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise _Refused(f"it would extend {_shown(self.stack[-1])}")
        self.stack[-1].extend(items)

    def update(self, items: list[Any]) -> None:
        keys = items[::2]
        if not isinstance(self.stack[-1], dict) or len(items) % 2:
            raise _Refused(f"it would set items of {_shown(self.stack[-1])}")
        if not all(isinstance(key, _SCALARS) for key in keys):
            raise _Refused("a key of a dict is neither text nor a number")
        if any(isinstance(key, int) and abs(key) >= sys.hash_info.modulus for key in keys):
            raise _Refused("a key of a dict is a huge number")  # many of which can share one hash, to waste time
        self.stack[-1].update(zip(keys, items[1::2], strict=True))

    def name(self, module: object, name: object) -> _Name:
        found = _NAMES.get(f"{module}.{name}") if isinstance(module, str) and isinstance(name, str) else None
        if found is None:
            shown = (part[:80] if isinstance(part, str) else _shown(part) for part in (module, name))
            raise _Refused(f"it names {'.'.join(shown)}, which is not data")
        return found


def _shown(value: object) -> str:
    return value.path if isinstance(value, _Name) else f"a {type(value).__name__}"


def _tree(root: object) -> object:
    """`root`, once it is seen to hold finished values only."""
    left: list[tuple[object, int]] = [(root, 0)]
    while left:
        value, depth = left.pop()
        if depth > MAX_DEPTH:
            raise _Refused(f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(value, (list, tuple)):
            left.extend((item, depth + 1) for item in value)
        elif isinstance(value, dict):
            left.extend((item, depth + 1) for item in value.values())
        elif not isinstance(value, _VALUES):
            raise _Refused(f"it holds {_shown(value)} as a value")
    return root


def _encode(machine: _Machine, arguments: tuple[Any, ...]) -> bytes:
    match arguments:
        case (str(text), "latin1" | "latin-1"):
            machine.budget.take(len(text))
            try:
                return text.encode("latin-1")
            except UnicodeEncodeError as error:
                raise _Refused("its byte string holds other characters than bytes") from error
    raise _Refused("it would encode text otherwise than as Latin-1")


def _dtype(machine: _Machine, arguments: tuple[Any, ...]) -> _Unfinished:
    match arguments:
        case (str(code), 0 | 1, 0 | 1) if re.fullmatch(r"b1|[iu][1248]|f[248]|[SU][0-9]{1,4}", code):
            return _Unfinished(lambda _, state: _with_byte_order(np.dtype(code), state))
    raise _Refused("it has an array of another type than numbers or text")


def _with_byte_order(dtype: np.dtype[Any], state: object) -> np.dtype[Any]:
    match state:
        case (_, "<" | ">" | "|" | "=" as order, None, None, None, *_):
            return dtype.newbyteorder(order)
    raise _Refused("an array's type is damaged, or has fields")


def _reconstruct(machine: _Machine, arguments: tuple[Any, ...]) -> _Unfinished:
    match arguments:
        case (_Name(path="numpy.ndarray"), (0,), "b" | b"b"):
            return _Unfinished(_array)
    raise _Refused("it would make an array otherwise than numpy does")


def _array(machine: _Machine, state: object) -> np.ndarray[Any, Any]:
    match state:
        case (1, tuple(shape), np.dtype() as dtype, bool(fortran), (str() | bytes()) as data):
            raw = _latin1(data)
        case _:
            raise _Refused("an array's content is damaged, or holds objects")
    if not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 8:
        raise _Refused("an array's shape is damaged")
    if prod(shape) * dtype.itemsize != len(raw) or not dtype.itemsize or (not raw and max(shape) > MAX_BYTES):
        raise _Refused("an array's shape and content disagree")
    machine.budget.take(len(raw))
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def _latin1(data: str | bytes) -> bytes:
    try:
        return data.encode("latin-1") if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise _Refused("an array's content holds other characters than bytes") from error


def _scalar(machine: _Machine, arguments: tuple[Any, ...]) -> Any:
    match arguments:
        case (np.dtype() as dtype, (str() | bytes()) as data) if len(data) == dtype.itemsize > 0:
            machine.budget.take(len(data))
            return np.frombuffer(_latin1(data), dtype)[0]
    raise _Refused("a numpy number is damaged")


def _sparse(layout: str) -> Callable[[], _Unfinished]:
    return lambda: _Unfinished(lambda _, state: _checked(layout, state))


def _checked(layout: str, state: object) -> Sparse:
    match state:
        case {
            "data": np.ndarray() as data,
            "indices": np.ndarray() as indices,
            "indptr": np.ndarray() as indptr,
            "_shape": (int(rows), int(columns)),
        }:
            runs, width = (rows, columns) if layout == "csr" else (columns, rows)
        case _:
            raise _Refused("a sparse matrix lacks some of its parts")
    whole = (
        data.ndim == indices.ndim == indptr.ndim == 1
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and min(rows, columns) >= 0
        and len(indptr) == runs + 1
        and len(data) == len(indices) == indptr[-1]
        and indptr[0] == 0
        and bool((indptr[1:] >= indptr[:-1]).all())
        and (not len(indices) or (indices.min() >= 0 and indices.max() < width))
    )
    if not whole:
        raise _Refused("a sparse matrix's parts disagree")
    return Sparse(layout, data, indices, indptr, (rows, columns))


def _no_bytes(machine: _Machine, arguments: tuple[Any, ...]) -> bytes:
    if arguments:
        raise _Refused("it would make bytes from something")
    return b""  # which the older protocols have no instruction for


def _defaultdict(machine: _Machine, arguments: tuple[Any, ...]) -> dict[object, object]:
    match arguments:
        case (_Name(path="builtins.list" | "__builtin__.list"),):
            return {}
    raise _Refused("it would make a defaultdict of something else than lists")


def _ordered_dict(machine: _Machine, arguments: tuple[Any, ...]) -> dict[object, object]:
    if arguments:
        raise _Refused("it would make an OrderedDict from something")
    return {}


def _stored(storage: _Storage, reference: object) -> np.ndarray[Any, Any]:
    match reference:
        case ("storage", _Name(dtype=dtype), str(key), str(), int(count), *rest) if dtype and rest in ([], [None]):
            if count < 0 or not re.fullmatch(r"[0-9]{1,20}", key):
                raise _Refused("a tensor's storage is damaged")
            array = storage(key, np.dtype(dtype), count)
            if array.dtype == np.dtype(dtype) and array.size == count:
                return array
    raise _Refused("a tensor's storage is damaged, or of a type that data do not need")


def _tensor(machine: _Machine, arguments: tuple[Any, ...]) -> torch.Tensor:
    match arguments:
        case (np.ndarray() as storage, int(start), tuple(size), tuple(stride), *_):
            numbers = (start, *size, *stride)
        case _:
            raise _Refused("a tensor is damaged")
    if len(size) != len(stride) or len(size) > 8 or not all(type(n) is int and 0 <= n < 1 << 40 for n in numbers):
        raise _Refused("a tensor's shape is damaged")
    last = start + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if storage.ndim != 1 or prod(size) > storage.size or (prod(size) and last >= storage.size):
        raise _Refused("a tensor reaches outside its storage")
    return torch.from_numpy(storage).as_strided(size, stride, start if prod(size) else 0)


_CALLS: dict[str, Callable[[_Machine, tuple[Any, ...]], object]] = {
    "_codecs.encode": _encode,
    "__builtin__.bytes": _no_bytes,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _defaultdict,
    "numpy.dtype": _dtype,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
}
_DTYPES = {
    "torch.BoolStorage": "?",
    "torch.ByteStorage": "<u1",
    "torch.CharStorage": "<i1",
    "torch.ShortStorage": "<i2",
    "torch.IntStorage": "<i4",
    "torch.LongStorage": "<i8",
    "torch.HalfStorage": "<f2",
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
}
_NAMES = {
    path: name
    for name in (
        *(_Name(path, call) for path, call in _CALLS.items()),
        *(_Name(path, dtype=dtype) for path, dtype in _DTYPES.items()),
        *(_Name(f"scipy.sparse.{m}.{k}_matrix", new=_sparse(k)) for k in ("csr", "csc") for m in (k, f"_{k}")),
        *(_Name(path) for path in ("numpy.ndarray", "builtins.list", "__builtin__.list")),
    )
    for path in (name.path,)
}

"""Pickled files are read as data: equal to what pickle and torch read, and nothing in them ever runs."""

from __future__ import annotations

import builtins
import collections
import io
import os
import pickle
import pickletools
import struct
import sys
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engnn.data import files, unpickle
from engnn.data.source import File
from engnn.data.unpickle import MAX_DEPTH, Sparse, load_pickle, load_torch
from engnn.errors import InputError

MODULUS = sys.hash_info.modulus


def equal(one: object, other: object) -> bool:
    """Whether two values are alike all the way down, types of leaves included."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        assert isinstance(other, (list, tuple))
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, (np.ndarray, np.generic)):
        return (
            isinstance(other, type(one))
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


def plain(value: object) -> bool:
    """Whether a value is a tree of containers over numbers, text, arrays, tensors and sparse matrices."""
    if isinstance(value, dict):
        return all(isinstance(key, (type(None), int, float, str, bytes)) for key in value) and all(
            map(plain, value.values())
        )
    if type(value) in (list, tuple):
        return all(map(plain, value))  # type: ignore[call-overload]
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufSU"
    return isinstance(value, (type(None), int, float, str, bytes, np.generic, torch.Tensor, Sparse))


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], object]:
    """Reads bytes as a pickle file."""

    def reader(content: bytes) -> object:
        (tmp_path / "file.pkl").write_bytes(content)
        return load_pickle(tmp_path / "file.pkl")

    return reader


Read = Callable[[bytes], object]

HARMLESS: dict[str, object] = {
    "nothing": None,
    "numbers": [0, 1, 255, 256, 65536, -1, 2**31, -(2**31), 2**200, 1.5, float("inf"), True, False],
    "text": ["", "a", "β" * 300, b"", b"\x00\xff", b"x" * 300],
    "tree": {"a": [1, (2, 3), ()], 7: {"b": None}, None: (1, 2, 3, 4), 1.5: [[[]]]},
    "defaultdict": collections.defaultdict(list, {0: [1, 2], 1: [0]}),
    "ordered": collections.OrderedDict(a=1, b=2),
    "arrays": [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([True, False]),
        np.array(["a", "βγ"]),
        np.array([b"a", b"bc"]),
        np.arange(3, dtype=">i4"),
        np.zeros((0, 5), dtype=np.float32),
        np.array(1.5, dtype=np.float16),
    ],
    "scalars": [np.float64(1.5), np.int32(-7)],
    "shared text": ["again", "again"] * 3,
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_values_are_what_pickle_reads(read: Read, name: str, protocol: int) -> None:
    content = pickle.dumps(HARMLESS[name], protocol)
    if protocol == 5 and name == "arrays":  # which have instructions of their own there, and no benchmark uses it
        with pytest.raises(InputError):
            read(content)
        return
    found = read(content)
    expected = pickle.loads(content)  # noqa: S301
    assert equal(found, dict(expected) if isinstance(expected, dict) else expected)


def test_a_pickle_of_python_2_is_read_as_latin_1(read: Read) -> None:
    text = b"\x80\x02]q\x00(U\x03abcq\x01U\x02\xe9\xffe."
    assert read(text) == pickle.loads(text, encoding="latin1") == ["abc", "éÿ"]  # noqa: S301


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
keys = st.text() | st.integers(-MODULUS + 1, MODULUS - 1)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner), max_leaves=20
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(trees, st.integers(2, 4))
def test_any_tree_of_scalars_is_what_pickle_reads(read: Read, value: object, protocol: int) -> None:
    content = pickle.dumps(value, protocol)
    if not shares_containers(content):
        assert equal(read(content), pickle.loads(content))  # noqa: S301


def shares_containers(content: bytes) -> bool:
    """Whether an empty tuple, or other container that Python keeps once, is recalled: these are refused."""
    recalls = {"BINGET", "LONG_BINGET"}
    return any(code.name in recalls for code, _, _ in pickletools.genops(content))


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.how = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.how


class Stateful:
    """Pickles as an object of this class with a state."""

    def __init__(self) -> None:
        self.x = 1


def touch(name: str) -> str:
    return f"touch {name}"


TRAP = "ran-from-a-pickle"
HOSTILE: dict[str, object] = {
    "os.system": Calls(os.system, touch(TRAP)),
    "os.popen": Calls(os.popen, touch(TRAP)),
    "builtins.eval": Calls(eval, f"open({TRAP!r}, 'w')"),
    "builtins.exec": Calls(exec, f"open({TRAP!r}, 'w')"),
    "builtins.open": Calls(open, TRAP, "w"),
    "builtins.getattr": Calls(getattr, "", "join"),
    "builtins.__import__": Calls(builtins.__import__, "antigravity"),
    "os.mkdir": Calls(os.mkdir, TRAP),
    "an object's state": Stateful(),
    "set": {1, 2},
    "nested": [1, {"a": (2, [Calls(os.mkdir, TRAP)])}],
    "in an array": np.array([Calls(os.mkdir, TRAP)], dtype=object),
    "object array": np.array([None, "a"], dtype=object),
    "record array": np.zeros(2, dtype=[("a", "i4")]),
    "array of dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "complex": 1j,
    "defaultdict of a call": collections.defaultdict(os.getcwd, {}),
    "tuple as a key": {(1, 2): 3},
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_more_than_data_is_refused_and_nothing_runs(
    read: Read, name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pickle.dumps(HOSTILE[name], protocol)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="runs nothing in them") as error:
        read(content)
    assert "file.pkl" in str(error.value)
    assert len(str(error.value)) < 600
    assert not (tmp_path / TRAP).exists()


def test_the_trap_is_one_that_pickle_falls_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(HOSTILE["os.mkdir"]))  # noqa: S301
    assert (tmp_path / TRAP).exists()


ARRAY = b"cnumpy\nndarray\n"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
DTYPE = b"cnumpy\ndtype\n"
F8 = DTYPE + b"X\x02\x00\x00\x00f8K\x00K\x01\x87R(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
EMPTY = RECONSTRUCT + ARRAY + b"K\x00\x85C\x01b\x87R"


def array(shape: bytes, data: bytes) -> bytes:
    """The instructions for an array of doubles with that shape (a tuple's instructions) and content."""
    return EMPTY + b"(K\x01" + shape + F8 + b"\x89B" + struct.pack("<I", len(data)) + data + b"tb"


TWO = array(b"K\x02\x85", bytes(16))
CRAFTED: dict[str, bytes] = {
    "posix.system by name": b"cposix\nsystem\n(X\x04\x00\x00\x00true\x85R.",
    "nt.system by name": b"cnt\nsystem\nX\x04\x00\x00\x00true\x85R.",
    "name on the stack": b"\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
    "name within a name": b"\x8c\x08builtins\x8c\x0edict.__class__\x93.",
    "name of a list of lists": b"]" * 1 + b"\x8c\x06system\x93.",
    "name nested deep": b"(" + b"]" + b"\x85" * 100_000 + b"\x8c\x06system\x93.",
    "a known name as a value": b"cnumpy\nndarray\n.",
    "inst": b"(X\x04\x00\x00\x00trueios\nsystem\n.",
    "obj": b"(cos\nsystem\nX\x04\x00\x00\x00trueo.",
    "extension registry": b"\x82\x01.",
    "new object of an array": ARRAY + b")\x81.",
    "new object with array arguments": b"cscipy.sparse.csr\ncsr_matrix\n" + TWO + b"\x81.",
    "state of a list": b"](X\x01\x00\x00\x00aK\x01tb.",
    "state of a dict": b"}(K\x01K\x02tb.",
    "state of text": b"X\x01\x00\x00\x00aK\x01b.",
    "array of arrays for a type": DTYPE + TWO + b"K\x00K\x01\x87R.",
    "array in a type's state": DTYPE + b"X\x02\x00\x00\x00f8K\x00K\x01\x87R(K\x03" + TWO + b"NNNK\x00K\x00K\x00tb.",
    "array as a version": EMPTY + b"(" + TWO + b"K\x00\x85" + F8 + b"\x89C\x00tb.",
    "array as a shape": EMPTY + b"(K\x01" + TWO + F8 + b"\x89C\x00tb.",
    "array as a kind": RECONSTRUCT + ARRAY + b"K\x00\x85" + TWO + b"\x87R.",
    "array never finished": EMPTY + b".",
    "array finished twice": EMPTY + b"q\x00(K\x01K\x00\x85" + F8 + b"\x89C\x00tbh\x00(K\x01tb.",
    "array larger than its content": array(b"J\xff\xff\xff\x7f\x85", bytes(16)) + b".",
    "array of a huge empty shape": array(b"K\x00\x8a\x0a" + b"\xff" * 9 + b"\x0f\x86", b"") + b".",
    "array of a negative shape": array(b"J\xff\xff\xff\xffJ\xfe\xff\xff\xff\x86", bytes(16)) + b".",
    "array of many axes": array(b"(" + b"K\x01" * 65 + b"t", bytes(8)) + b".",
    "type with no size": DTYPE + b"X\x02\x00\x00\x00S0K\x00K\x01\x87R.",
    "type of objects": DTYPE + b"X\x02\x00\x00\x00O8K\x00K\x01\x87R(K\x03X\x01\x00\x00\x00|NNNK\xffK\xffK\x3ftb.",
    "type with a comma": DTYPE + b"X\x05\x00\x00\x00i4,f8K\x00K\x01\x87R.",
    "a list that holds itself": b"]q\x00h\x00a.",
    "a list in two places": b"]q\x00]h\x00ah\x00a.",
    "a tuple of a list in two places": b"]]\x85q\x00h\x00\x86.",
    "a memo never stored": b"h\x07.",
    "a memo of text too large for what is left": b"X\xff\xff\xff\x7fa.",
    "a negative length": b"T\xff\xff\xff\xffa.",
    "two values": b"K\x01K\x02.",
    "more after the end": b"K\x01.K\x02.",
    "no value": b".",
    "an open mark": b"(K\x01.",
    "no mark": b"K\x01t.",
    "a newer protocol": b"\x80\x06K\x01.",
    "a number as text": b"I1\n.",
    "an unknown instruction": b"\xff.",
    "an odd number of items": b"}(K\x01u.",
    "a persistent name": b"X\x01\x00\x00\x00aQ.",
    "nothing at all": b"",
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_pickle_is_refused(read: Read, name: str) -> None:
    with pytest.raises(InputError, match="runs nothing in them"):
        read(CRAFTED[name])


def test_the_crafted_arrays_are_refused_for_their_craft_only(read: Read) -> None:
    assert equal(read(b"\x80\x02" + TWO + b"."), np.zeros(2))
    assert equal(read(b"\x80\x02" + array(b"K\x01K\x02\x86", bytes(16)) + b"."), np.zeros((1, 2)))


def laughs() -> bytes:
    """Lists of the list before, ten times each: 10^30 leaves when walked, a hundred bytes on disk."""
    return b"]q\x00" + b"".join(b"](" + b"h%c" % level * 10 + b"eq%c" % (level + 1) for level in range(30)) + b"."


def nested_tuples() -> bytes:
    return b")" + b"".join(b"q%ch%c\x86" % (level, level) for level in range(60)) + b"."


BOMBS: dict[str, Callable[[], bytes]] = {
    "laughs": laughs,
    "tuples doubling": nested_tuples,
    "deep lists": lambda: b"]" * 50_000 + b"a" * 49_999 + b".",
    "deep tuples": lambda: b")" + b"\x85" * 50_000 + b".",
    "deep marks": lambda: b"(" * 100_000,
    "keys of one hash": lambda: (
        b"}("
        + b"".join(
            b"\x8a\x0b" + (number * MODULUS).to_bytes(11, "little", signed=True) + b"N" for number in range(1, 50_000)
        )
        + b"u."
    ),
    "the same bytes encoded again and again": lambda: (
        b"c_codecs\nencode\nq\x00X\x40\x42\x0f\x00" + b"a" * 1_000_000 + b"q\x01X\x06\x00\x00\x00latin1q\x02](" +
        b"h\x00h\x01h\x02\x86R" * 10_000 + b"e."
    ),
    "the same content in many arrays": lambda: (
        b"B" + struct.pack("<I", 800_000) + bytes(800_000) + b"q\x00](" +
        (EMPTY + b"(K\x01J" + struct.pack("<i", 100_000) + b"\x85" + F8 + b"\x89h\x00tb") * 1000 + b"e."
    ),
    "a storage of petabytes": lambda: b"\x8e" + b"\xff" * 7 + b"\x00" + b"a.",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_little_memory(read: Read, name: str) -> None:
    content = BOMBS[name]()
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            read(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(content) + (200 << 20)


def test_a_pickle_may_have_so_many_instructions_and_no_more(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpickle, "MAX_INSTRUCTIONS", 1000)
    assert read(b"](" + b"N" * 996 + b"e.") == [None] * 996
    with pytest.raises(InputError, match="more than 1000 instructions"):
        read(b"](" + b"N" * 997 + b"e.")


def test_nesting_is_read_down_to_its_bound(read: Read) -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    assert read(pickle.dumps(nested(MAX_DEPTH), 2)) == nested(MAX_DEPTH)
    with pytest.raises(InputError, match="nested"):
        read(pickle.dumps(nested(MAX_DEPTH + 1), 2))


def test_every_truncation_is_refused(read: Read) -> None:
    content = pickle.dumps({"a": np.arange(20), "b": [1, "two", (3.0,)], "c": b"four"}, 2)
    assert read(content)
    for at in range(len(content)):
        with pytest.raises(InputError):
            read(content[:at])


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_a_sparse_matrix_is_its_parts(read: Read, layout: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[0, 1.5, 0], [2, 0, 0]])).asformat(layout)
    found = read(pickle.dumps(matrix, 2))
    assert isinstance(found, Sparse)
    assert (found.format, found.shape) == (layout, (2, 3))
    again = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[layout]
    assert (again((found.data, found.indices, found.indptr), found.shape) != matrix).nnz == 0


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9], dtype=np.int32)},
        {"indices": np.array([0, -1], dtype=np.int32)},
        {"indices": np.array([0.0, 1.0])},
        {"indptr": np.array([0, 1, 5], dtype=np.int32)},
        {"indptr": np.array([0, 2, 1], dtype=np.int32)},
        {"indptr": np.array([1, 1, 2], dtype=np.int32)},
        {"indptr": np.array([0, 2], dtype=np.int32)},
        {"data": np.array([1.0])},
        {"_shape": (2, 1)},
        {"_shape": (-1, 3), "indptr": np.array([], dtype=np.int32)},
        {
            "_shape": (1, -3),
            "indptr": np.array([0, 0], dtype=np.int32),
            "indices": np.array([], dtype=np.int32),
            "data": np.array([]),
        },
    ],
)
def test_a_sparse_matrix_whose_parts_disagree_is_refused(read: Read, change: dict[str, object]) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[0, 1.5, 0], [2, 0, 0]]))
    assert read(pickle.dumps(matrix, 2))
    for name, value in change.items():
        matrix.__dict__[name] = value
    with pytest.raises(InputError):
        read(pickle.dumps(matrix, 2))


TENSORS: dict[str, object] = {
    "one": torch.arange(6).reshape(2, 3),
    "kinds": [torch.tensor([1.5, -2.0], dtype=kind) for kind in (torch.float16, torch.float32, torch.float64)],
    "whole": [torch.tensor([1, 2], dtype=kind) for kind in (torch.uint8, torch.int8, torch.int16, torch.int32)],
    "flags": torch.tensor([True, False]),
    "strided": torch.arange(12).reshape(3, 4).T[1:],
    "empty": torch.zeros(0, 3),
    "scalar": torch.tensor(7.0),
    "split": {"edge": torch.arange(8).reshape(4, 2), "edge_neg": torch.zeros(1, 2, dtype=torch.long), "year": [1]},
    "shared": (lambda base: [base[:2], base[2:]])(torch.arange(5)),
}


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", TENSORS)
def test_saved_tensors_are_what_torch_loads(tmp_path: Path, name: str, new: bool) -> None:
    path = tmp_path / "tensors.pt"
    torch.save(TENSORS[name], path, _use_new_zipfile_serialization=new)
    assert equal(load_torch(path), torch.load(path, weights_only=True))


@pytest.mark.parametrize("new", [True, False])
def test_arrays_saved_by_torch_are_read_as_the_benchmarks_need(tmp_path: Path, new: bool) -> None:
    value = {"edge": np.arange(8).reshape(4, 2)}
    torch.save(value, tmp_path / "split.pt", _use_new_zipfile_serialization=new)
    assert equal(load_torch(tmp_path / "split.pt"), value)


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("value", [0, -1])  # whose bytes are one and two in a pickle's text
def test_a_file_that_is_one_large_array_is_read(tmp_path: Path, new: bool, value: int) -> None:
    array = np.full((1000, 300), value)
    torch.save({"target_node_neg": array}, tmp_path / "a.pt", _use_new_zipfile_serialization=new)
    assert equal(load_torch(tmp_path / "a.pt"), {"target_node_neg": array})


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "tuple as a key"])
def test_whatever_is_more_than_data_in_a_torch_file_is_refused_and_nothing_runs(
    name: str, new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"x": torch.ones(2), "y": HOSTILE[name]}, "file.pt", _use_new_zipfile_serialization=new)
    with pytest.raises(InputError, match="runs nothing in them"):
        load_torch(tmp_path / "file.pt")
    assert not (tmp_path / TRAP).exists()


def test_a_module_is_refused(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "file.pt")
    with pytest.raises(InputError, match="not data"):
        load_torch(tmp_path / "file.pt")


def repacked(path: Path, change: Callable[[str, bytes], tuple[str, bytes]], method: int) -> None:
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(*change(name, content))


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    torch.save(torch.zeros(1_000_000), path)
    repacked(path, lambda name, content: (name, content), zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="compressed"):
        load_torch(path)


@pytest.mark.parametrize(
    ("member", "content"),
    [("data/0", b"short"), ("byteorder", b"big"), ("data.pkl", b"K\x01"), ("data.pkl", b"cos\nsystem\n)R.")],
)
def test_a_torch_file_with_another_member_is_refused(tmp_path: Path, member: str, content: bytes) -> None:
    path = tmp_path / "file.pt"
    torch.save(torch.arange(6), path)
    repacked(path, lambda name, old: (name, content if name.endswith(member) else old), zipfile.ZIP_STORED)
    with pytest.raises(InputError):
        load_torch(path)


def reference(count: int, key: str = "0", kind: str = "FloatStorage") -> bytes:
    """The instructions for a tensor `[count]` on a storage of `count` floats."""
    out = io.BytesIO()
    out.write(b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + kind.encode() + b"\n")
    out.write(b"X" + struct.pack("<I", len(key)) + key.encode() + b"X\x03\x00\x00\x00cpu")
    number = b"\x8a\x0a" + count.to_bytes(10, "little", signed=True)
    out.write(number + b"tQK\x00" + number + b"\x85K\x01\x85\x89}tR")
    return out.getvalue()


@pytest.mark.parametrize(
    "tensor",
    [
        reference(1 << 50),
        reference(-1),
        reference(6, key="../data.pkl"),
        reference(6, key="9"),
        reference(6, kind="UntypedStorage"),
        reference(7),
    ],
)
def test_a_tensor_outside_its_file_is_refused_before_memory_is_taken(tmp_path: Path, tensor: bytes) -> None:
    path = tmp_path / "file.pt"
    torch.save(torch.arange(6.0), path)
    good, bad = (b"\x80\x02" + part + b"." for part in (reference(6), tensor))
    repacked(path, lambda name, old: (name, good if name.endswith("data.pkl") else old), zipfile.ZIP_STORED)
    assert equal(load_torch(path), torch.arange(6.0))
    repacked(path, lambda name, old: (name, bad if name.endswith("data.pkl") else old), zipfile.ZIP_STORED)
    with pytest.raises(InputError):
        load_torch(path)


@pytest.mark.parametrize(
    ("size", "stride", "start"), [((7,), (1,), 0), ((2,), (9,), 0), ((2,), (1,), 5), ((2, 9), (0, 0), 0)]
)
def test_a_view_that_leaves_its_storage_is_refused(
    tmp_path: Path, size: tuple[int, ...], stride: tuple[int, ...], start: int
) -> None:
    path = tmp_path / "file.pt"
    torch.save(torch.arange(6.0), path)
    tail = pickle.dumps((start, size, stride), 2)[2:-1]
    view = (
        reference(6).split(b"Q")[0] + b"Q" + tail.replace(b"q\x00", b"").replace(b"q\x01", b"").replace(b"q\x02", b"")
    )
    inner = view.removesuffix(b"\x87") if view.endswith(b"\x87") else view
    content = b"\x80\x02" + inner + b"\x89}tR."
    repacked(path, lambda name, old: (name, content if name.endswith("data.pkl") else old), zipfile.ZIP_STORED)
    with pytest.raises(InputError, match="outside its storage"):
        load_torch(path)


def test_neither_a_folder_nor_nothing_is_read(tmp_path: Path) -> None:
    for load in (load_pickle, load_torch):
        for path in (tmp_path, tmp_path / "absent"):
            with pytest.raises(InputError, match="cannot be read"):
                load(path)


def saved(value: object, *, new: bool) -> bytes:
    out = io.BytesIO()
    torch.save(value, out, _use_new_zipfile_serialization=new)
    return out.getvalue()


VICTIM: dict[str, object] = {"a": np.arange(9), "b": [1, ("two", 3.0)], "c": b"four", "d": {5: None, 6: np.float64(7)}}
TENSOR_VICTIM = {"edge": torch.arange(8).reshape(2, 4).T, "year": np.array([1, 2]), "c": torch.tensor([True])}
WHOLE = {
    "pickle 2": (pickle.dumps(VICTIM, 2), load_pickle),
    "pickle 4": (pickle.dumps(VICTIM, 4), load_pickle),
    "torch zip": (saved(TENSOR_VICTIM, new=True), load_torch),
    "torch legacy": (saved(TENSOR_VICTIM, new=False), load_torch),
}
edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.sampled_from(["set", "cut", "insert"]), st.binary(min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("name", WHOLE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(edits)
def test_a_changed_file_gives_plain_data_or_one_error(
    tmp_path: Path, name: str, changes: list[tuple[float, str, bytes]]
) -> None:
    whole, load = WHOLE[name]
    content = bytearray(whole)
    for where, how, some in changes:
        at = int(where * len(content))
        if how == "set":
            content[at : at + len(some)] = some
        elif how == "cut":
            del content[at : at + len(some)]
        else:
            content[at:at] = some
    (tmp_path / "file").write_bytes(content)
    try:
        found = load(tmp_path / "file")
    except InputError:
        return
    assert plain(found)


@pytest.mark.parametrize("name", WHOLE)
def test_every_flipped_byte_gives_plain_data_or_one_error_in_bounded_memory(tmp_path: Path, name: str) -> None:
    whole, load = WHOLE[name]
    path = tmp_path / "file"
    path.write_bytes(whole)
    assert plain(load(path))
    tracemalloc.start()
    try:
        for at in range(0, len(whole), 1 + len(whole) // 300):
            for flip in (0x01, 0x80, 0xFF):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
                try:
                    assert plain(load(path))
                except InputError:
                    continue
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def raw(path: str, name: str) -> Path:
    if (found := files.find(File(path))) is None:
        pytest.skip(f"data: {name} is not here")
    return found


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
@pytest.mark.parametrize("part", ["x", "tx", "allx", "y", "ty", "ally", "graph"])
def test_planetoid_files_are_what_pickle_reads(name: str, part: str) -> None:
    folder = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}[name]
    path = raw(f"Planetoid/{folder}/raw/ind.{name}.{part}", name)
    found = load_pickle(path)
    pytest.importorskip("scipy.sparse")
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")
        expected: Any = pickle.load(file, encoding="latin1")  # noqa: S301
    if isinstance(found, Sparse):
        assert found.shape == expected.shape
        for name_ in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(found, name_), getattr(expected, name_))
    else:
        assert equal(found, dict(expected) if part == "graph" else expected)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_the_splits_of_ogbl_ddi_are_what_torch_reads(part: str) -> None:
    path = raw(f"ogb/ogbl_ddi/split/target/{part}.pt", "ogbl-ddi")
    found = load_torch(path)
    with torch.serialization.safe_globals(
        [
            (np._core.multiarray._reconstruct, "numpy.core.multiarray._reconstruct"),
            np.ndarray,
            np.dtype,
            np.dtypes.Int64DType,
        ]
    ):
        expected = torch.load(path, weights_only=True)
    assert equal(found, expected)

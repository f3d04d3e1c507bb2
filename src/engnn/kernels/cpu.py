"""The C++ kernels: compiled by the machine's own compiler when first needed, kept in the user's cache."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from engnn.kernels.plain import Ending

LOG = logging.getLogger("engnn.kernels")
SOURCE = Path(__file__).with_name("rows.cpp")
FLAGS = [
    "-O3",
    "-march=native",
    "-std=gnu++17",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp",
    "-fPIC",
    "-shared",
]
MAX_PARTS = 4
DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.bfloat16: "float32"}

_Int, _Pointer = ctypes.c_int64, ctypes.c_void_p


class _Call(ctypes.Structure):
    """`Call` of rows.cpp."""

    _fields_ = (
        *((name, _Int) for name in ("rows", "channels", "hidden", "width", "active", "out", "parts", "ending", "num")),
        ("threads", _Int),
        *((name, _Pointer) for name in ("entry", "owner")),
        *((name, _Int) for name in ("own_size", "table_rows", "table_wide")),
        *((name, _Pointer) for name in ("weight", "bias", "own", "table", "weight2", "bias2", "grad", "result")),
        *((f"of_{name}", _Pointer) for name in ("weight", "bias", "own", "table", "weight2", "bias2")),
        *((name, _Pointer * MAX_PARTS) for name in ("part", "of_part")),
        *((name, _Int * MAX_PARTS) for name in ("column", "size")),
    )


@functools.cache
def library() -> ctypes.CDLL | str:
    """The compiled kernels, or the reason why there are none."""
    compiler = os.environ.get("CXX", "g++")
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no C++ compiler: {error}"
    key = [SOURCE.read_text(), version, " ".join(FLAGS), _cpu(), torch.__version__]
    name = f"rows-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.so"
    folder = Path(os.environ.get("ENGNN_CACHE") or Path.home() / ".cache" / "engnn") / "kernels"
    try:
        if not (folder / name).exists():
            _compile(compiler, folder, name)
        return ctypes.CDLL(str(folder / name))
    except (OSError, RuntimeError) as error:
        return str(error)


def _compile(compiler: str, folder: Path, name: str) -> None:
    """Several processes may do this at once: each writes a file of its own, and renames it when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / name
        done = subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{compiler} failed: {done.stderr.strip() or f'exit code {done.returncode}'}")
        made.replace(folder / name)


def _cpu() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return platform.machine() + "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def forward(
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    num: int,
    ending: int,
) -> Tensor:
    call = _Kernel(parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, num, ending)
    n, channels, width = parts[0].size(0), call.shape[1:-1], call.shape[-1]
    if ending == Ending.LINEAR:
        assert weight2 is not None
        result = call.empty(n, *channels, weight2.size(0))
    elif ending == Ending.SETS:
        result = call.empty(num, *channels, width).zero_()
    else:
        result = call.empty(n, *(channels if ending == Ending.PRODUCT else ()), width)
    call.set(result=result)
    call.run("forward")
    return result.to(weight.dtype)


def backward(
    grad: Tensor,
    parts: Sequence[Tensor],
    columns: Sequence[int],
    weight: Tensor,
    bias: Tensor | None,
    own: Tensor | None,
    table: Tensor | None,
    entry: Tensor | None,
    weight2: Tensor | None,
    bias2: Tensor | None,
    owner: Tensor | None,
    ending: int,
    needs: Sequence[bool],
) -> list[Tensor]:
    num = grad.size(0) if ending == Ending.SETS else 0
    call = _Kernel(parts, columns, weight, bias, own, table, entry, weight2, bias2, owner, num, ending)
    inputs = {"weight": weight, "bias": bias, "own": own, "table": table, "weight2": weight2, "bias2": bias2}
    grads: list[Tensor | None] = []
    for (name, tensor), need in zip(inputs.items(), needs, strict=False):
        grads.append(call.empty(*tensor.shape).zero_() if tensor is not None and need else None)
        call.set(**{f"of_{name}": grads[-1]})
    for p, (part, need) in enumerate(zip(parts, needs[6:], strict=True)):
        grads.append(call.empty(*part.shape) if need else None)
        call.call.of_part[p] = call.pointer(grads[-1])
    call.set(grad=grad)
    call.run("backward")
    return [weight.new_empty(0) if g is None else g.to(weight.dtype) for g in grads]


class _Kernel:
    """One call: the structure, and the tensors that it points to."""

    def __init__(
        self,
        parts: Sequence[Tensor],
        columns: Sequence[int],
        weight: Tensor,
        bias: Tensor | None,
        own: Tensor | None,
        table: Tensor | None,
        entry: Tensor | None,
        weight2: Tensor | None,
        bias2: Tensor | None,
        owner: Tensor | None,
        num: int,
        ending: int,
    ) -> None:
        channels = parts[0].shape[1:-1]
        self.shape = (parts[0].size(0), *channels, weight.size(0))
        self.name = DTYPES[weight.dtype]
        self.dtype = torch.float32 if weight.dtype == torch.bfloat16 else weight.dtype
        self.tensors: list[Tensor] = []
        self.call = call = _Call(threads=torch.get_num_threads(), num=num, ending=ending, parts=len(parts))
        call.rows, call.channels, (call.hidden, call.width) = parts[0].size(0), channels.numel(), weight.shape
        call.out, call.active = (0, call.hidden) if weight2 is None else weight2.shape
        if own is not None:
            call.own_size = own.size(1)
        if table is not None:
            call.table_rows, call.table_wide = table.size(0), table.dim() == 3
        self.set(weight=weight, bias=bias, own=own, table=table, entry=entry, weight2=weight2, bias2=bias2, owner=owner)
        for p, (part, column) in enumerate(zip(parts, columns, strict=True)):
            call.part[p], call.column[p], call.size[p] = self.pointer(part), column, part.size(-1)

    def pointer(self, tensor: Tensor | None) -> int | None:
        if tensor is None:
            return None
        if tensor.is_floating_point():
            tensor = tensor.to(self.dtype)
        self.tensors.append(tensor.contiguous())
        return self.tensors[-1].data_ptr()

    def set(self, **tensors: Tensor | None) -> None:
        for name, tensor in tensors.items():
            setattr(self.call, name, self.pointer(tensor))

    def empty(self, *shape: int) -> Tensor:
        return self.tensors[0].new_empty(shape)

    def run(self, direction: str) -> None:
        compiled = library()
        assert not isinstance(compiled, str)
        getattr(compiled, f"{direction}_{self.name}")(ctypes.byref(self.call))


def neighbour_sum(
    values: Tensor, pointer: Tensor, source: Tensor, inner: Tensor | None, outer: Tensor | None
) -> Tensor:
    n, size = pointer.numel() - 1, values[:1].numel()
    dtype = torch.float32 if values.dtype == torch.bfloat16 else values.dtype
    floats = [None if t is None else t.to(dtype).contiguous() for t in (values, inner, outer)]
    result = values.new_empty(n, *values.shape[1:], dtype=dtype)
    at = [
        None if t is None else t.data_ptr()
        for t in (floats[0], pointer.contiguous(), source.contiguous(), *floats[1:], result)
    ]
    compiled = library()
    assert not isinstance(compiled, str)
    run = getattr(compiled, f"neighbours_{DTYPES[values.dtype]}")
    run(_Int(n), _Int(size), *map(_Pointer, at), _Int(torch.get_num_threads()))
    return result.to(values.dtype)

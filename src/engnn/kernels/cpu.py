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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from engnn.errors import InputError
from engnn.folders import cache_folder
from engnn.kernels import plain
from engnn.kernels.plain import Ending

LOG = logging.getLogger("engnn.kernels")
SOURCES = [Path(__file__).with_name(name) for name in ("rows.cpp", "layer.cpp", "tiles.h")]
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
EDGE = 18  # where among a layer's weights that of the edges is
DTYPES = (torch.float32, torch.float64, torch.bfloat16)


@functools.cache
def library() -> ctypes.CDLL | str:
    """The compiled kernels, or the reason why there are none."""
    compiler = os.environ.get("CXX", "g++")
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no C++ compiler: {error}"
    key = [*(source.read_text() for source in SOURCES), version, " ".join(FLAGS), _cpu(), torch.__version__]
    name = f"kernels-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.so"
    try:
        folder = cache_folder() / "kernels"
        if not (folder / name).exists():
            _compile(compiler, folder, name)
        return ctypes.CDLL(str(folder / name))
    except (OSError, RuntimeError, InputError) as error:
        return str(error)


def _compile(compiler: str, folder: Path, name: str) -> None:
    """Several processes may do this at once: each writes a file of its own, and renames it when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / name
        sources = [source for source in SOURCES if source.suffix == ".cpp"]
        objects = [str(made.with_suffix(f".{source.stem}.o")) for source in sources]
        commands = [["-c", str(source), "-o", path] for source, path in zip(sources, objects, strict=True)]
        with ThreadPoolExecutor() as pool:  # a file each takes half the time of both
            list(pool.map(lambda command: _run_compiler([compiler, *FLAGS, *command]), commands))
        _run_compiler([compiler, *FLAGS, *objects, "-o", str(made)])
        made.replace(folder / name)


def _run_compiler(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip() or f'exit code {done.returncode}'}")


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
    shape = plain.shape(parts, weight, weight2, num, ending)
    result = parts[0].new_empty(shape, dtype=plain.exact(weight.dtype))
    inputs = (entry, owner, weight, bias, own, table, weight2, bias2)
    _run("forward", parts, columns, inputs, num, ending, [result, *[None] * 6], [None] * len(parts))
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
    dtype = plain.exact(weight.dtype)
    of = [
        torch.empty_like(tensor, dtype=dtype, memory_format=torch.contiguous_format)
        if need and tensor is not None
        else None
        for tensor, need in zip((weight, bias, own, table, weight2, bias2, *parts), needs, strict=True)
    ]
    inputs = (entry, owner, weight, bias, own, table, weight2, bias2)
    num = grad.size(0) if ending == Ending.SETS else 0
    _run("backward", parts, columns, inputs, num, ending, [grad, *of[:6]], of[6:])
    return [weight.new_empty(0) if one is None else one.to(weight.dtype) for one in of]


def neighbour_sum(
    values: Tensor, pointer: Tensor, source: Tensor, inner: Tensor | None, outer: Tensor | None
) -> Tensor:
    result = values.new_empty(pointer.size(0) - 1, *values.shape[1:], dtype=plain.exact(values.dtype))
    keep: list[Tensor] = []
    at = [_at(tensor, result.dtype, keep) for tensor in (values, pointer, source, inner, outer, result)]
    numbers = (result.size(0), values.shape[1:].numel(), torch.get_num_threads())
    _kernel("neighbours", result.dtype)(*map(ctypes.c_int64, numbers), *map(ctypes.c_void_p, at))
    return result.to(values.dtype)


def fits(given: tuple[Tensor, Tensor, Tensor | None], structure: Sequence[Tensor], weights: Sequence[Tensor]) -> bool:
    """Whether `layer` does this: all of one type and of the sizes that the weights are for, and e is no result."""
    x, z, edge = given
    n, source = x.size(0), structure[1]
    wide = (n, weights[12].size(1) - weights[10].size(0)), (n, z.size(1), weights[0].size(1))
    return (
        x.dtype == z.dtype == weights[0].dtype in DTYPES[:2]
        and (x.shape, z.shape) == wide
        and structure[0].size(0) == structure[3].size(0) == structure[5].size(0) + 1 == n + 1
        and (edge is None or (not edge.requires_grad and edge.shape == (source.size(0), weights[EDGE].size(1))))
        and (edge is None or edge.dtype == x.dtype)
    )


def layer(
    x: Tensor,
    z: Tensor,
    edge: Tensor | None,
    structure: Sequence[Tensor],
    weights: Sequence[Tensor],
    flags: Sequence[bool],
    numbers: Sequence[float],
) -> list[Tensor]:
    """x², Z² and what `layer_backward` needs, by layer.cpp."""
    shapes = plain.layer_shapes(x, z, structure[-1], weights, edge is not None)
    result = [x.new_empty(shape) for shape in shapes]
    _layer(False, (x, z, edge), structure, weights, flags, numbers, [*result, None, None], [None] * len(weights))
    return result


def layer_backward(
    grad_x: Tensor,
    grad_z: Tensor,
    kept: Tensor,
    x: Tensor,
    z: Tensor,
    edge: Tensor | None,
    structure: Sequence[Tensor],
    weights: Sequence[Tensor],
    flags: Sequence[bool],
    numbers: Sequence[float],
) -> list[Tensor]:
    """The gradients of x, z and the weights."""
    of = [torch.empty_like(one, memory_format=torch.contiguous_format) for one in (x, z, *weights)]
    outputs = [grad_x, grad_z, kept, of[0], of[1]]
    _layer(True, (x, z, edge), structure, weights, flags, numbers, outputs, of[2:])
    return of


def _layer(
    back: bool,
    inputs: tuple[Tensor, Tensor, Tensor | None],
    structure: Sequence[Tensor],
    weights: Sequence[Tensor],
    flags: Sequence[bool],
    numbers: Sequence[float],
    outputs: Sequence[Tensor | None],
    of_weights: Sequence[Tensor | None],
) -> None:
    """Lay the arguments out as the structure `LayerCall` of layer.cpp and call the kernel."""
    x, z, edge = inputs
    keep: list[Tensor] = []
    given, of = list(weights), list(of_weights)
    if edge is None:
        given.insert(EDGE, x.new_empty(0))
        of.insert(EDGE, None)
    call = [*z.shape, x.size(1), structure[-1].size(0), 0 if edge is None else edge.size(1), *flags]
    call.append(torch.get_num_threads())
    call += [_at(tensor, x.dtype, keep) for tensor in (*inputs, *structure, *outputs)]
    call += [weight.size(0) for weight in given]
    call += [_at(tensor, x.dtype, keep) for tensor in (*given, *of)]
    arguments = ((ctypes.c_int64 * len(call))(*call), ctypes.c_int64(back), *map(ctypes.c_double, numbers))
    _kernel("layer", x.dtype)(*arguments)


def _run(
    direction: str,
    parts: Sequence[Tensor],
    columns: Sequence[int],
    inputs: tuple[Tensor | None, ...],
    num: int,
    ending: int,
    outputs: list[Tensor | None],
    of_parts: list[Tensor | None],
) -> None:
    """Lay the arguments out as the structure `Call` of rows.cpp and call the kernel."""
    _, _, weight, _, own, table, weight2, _ = inputs
    assert weight is not None
    dtype, missing = plain.exact(weight.dtype), [0] * (MAX_PARTS - len(parts))
    keep: list[Tensor] = []  # until the kernel is done
    hidden, width = weight.shape
    out, active = (0, hidden) if weight2 is None else weight2.shape
    call = [parts[0].size(0), parts[0].shape[1:-1].numel(), hidden, width, active, out, len(parts), ending, num]
    call += [torch.get_num_threads(), 0 if own is None else own.size(1)]
    call += [0, 0] if table is None else [table.size(0), table.dim() == 3]
    added = inputs[3:6] if direction == "forward" or ending != Ending.PRODUCT else [None] * 3  # no need to add it again
    call += [_at(tensor, dtype, keep) for tensor in (*inputs[:3], *added, *inputs[6:], *outputs)]
    call += [*columns, *missing, *(part.size(-1) for part in parts), *missing]
    call += [
        *(_at(part, dtype, keep) for part in parts),
        *missing,
        *(_at(of, dtype, keep) for of in of_parts),
        *missing,
    ]
    if not _kernel(direction, dtype)((ctypes.c_int64 * len(call))(*call)):
        raise IndexError(
            "an entry is no row of the table, or an owner no set: indices must be from 0 and below their number"
        )


def _at(tensor: Tensor | None, dtype: torch.dtype, keep: list[Tensor]) -> int:
    """Where a tensor's numbers lie, in the kernel's type and one after the other."""
    if tensor is None:
        return 0
    if not (tensor.dtype is dtype or tensor.dtype is torch.int64):
        tensor = tensor.to(dtype)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    keep.append(tensor)
    return tensor.data_ptr()


@functools.cache
def _kernel(name: str, dtype: torch.dtype) -> Callable[..., bool]:
    compiled = library()
    assert not isinstance(compiled, str)
    kernel = getattr(compiled, f"{name}_{'float64' if dtype is torch.float64 else 'float32'}")
    kernel.restype = ctypes.c_bool
    called: Callable[..., bool] = kernel
    return called

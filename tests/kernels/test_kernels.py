"""Every implementation of the operators against the formulas written out, in double precision, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from engnn import kernels
from engnn.kernels import Adjacency, Rows, linear, neighbour_sum, ops, product, sum_channels, sum_sets

WAYS = ["torch", "cpp", "triton"]
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
N, C, L, D, H, OUT, SETS = 23, 5, 6, 3, 11, 7, 4


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One after the other, each implementation that this machine has."""
    monkeypatch.setenv("ENGNN_KERNELS", request.param)
    found = kernels.status(DEVICE.type)
    if found.name != request.param:
        pytest.skip(f"kernels: {request.param} cannot be had here ({found.reason})")
    return str(request.param)


def make(*shape: int, seed: int) -> Tensor:
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return values.to(DEVICE).requires_grad_()


def owners(n: int = N, sets: int = SETS) -> Tensor:
    """The last set is empty."""
    return torch.randint(0, sets - 1, (n,), generator=torch.Generator().manual_seed(1)).to(DEVICE)


def shapes() -> Iterator[tuple[str, Rows]]:
    """Rows of every kind: with and without channels, bias and table; the table with and without channels."""
    z, a, x = make(N, C, L, seed=2), make(N, C, L, seed=3), make(N, D, seed=4)
    weight, bias = make(H, 2 * L + D, seed=5), make(H, seed=6)
    yield "one part", Rows((z,), (L,), weight)
    yield "two parts", Rows((z, a), (0, L), weight, bias)
    yield "what is a row's own", Rows((z,), (0,), weight, bias, make(N, H, seed=4))
    yield "own in some columns", Rows((z, a), (0, L), weight, None, make(N, H - 2, seed=4))
    yield "a table for every channel", Rows((z, a), (0, L), weight, bias, x, make(SETS, C, H, seed=7), owners())
    yield "a table for all channels", Rows((z,), (0,), weight, bias, None, make(SETS, H, seed=8), owners())
    yield "a table of one row", Rows((z,), (0,), weight, None, None, make(1, C, H, seed=9))
    yield "no channels", Rows((x,), (2 * L,), weight, bias, make(N, 1, seed=9))
    yield "no channels, with a table", Rows((x,), (2 * L,), weight, bias, None, make(SETS, H, seed=10), owners())
    yield "more rows than a block", Rows((make(211, L, seed=1),), (0,), weight, bias, make(211, H, seed=2))
    yield "more channels than a block", Rows((make(2, 131, L, seed=1),), (0,), weight, bias, make(2, H, seed=2))
    yield "a part without columns", Rows((z, make(N, C, 0, seed=1)), (0, L), weight)
    yield "no rows", Rows((make(0, C, L, seed=2),), (0,), weight, bias, make(0, H, seed=2))


W2, B2, PAST = make(OUT, H, seed=12), make(OUT, seed=13), make(2, 9, seed=14)
ENDINGS: dict[str, Callable[[Rows], Tensor]] = {
    "product": product,
    "linear": lambda rows: linear(rows, W2, B2),
    "linear without bias": lambda rows: linear(rows, W2),
    "linear beside columns that go past": lambda rows: linear(rows, PAST),
    "sum over channels": sum_channels,
    "sum over sets": lambda rows: sum_sets(rows, owners(rows.parts[0].size(0)), SETS),
    "sum over all": lambda rows: sum_sets(rows, None, 1),
}


def leaves(rows: Rows) -> list[Tensor]:
    tensors = (*rows.parts, rows.weight, rows.bias, rows.own, rows.table, W2, B2, PAST)
    return [t for t in tensors if t is not None]


def written_out(rows: Rows, ending: str) -> Tensor:
    """The formula as the documentation gives it, on concatenations and one row of H after the other."""
    n, channels = rows.parts[0].size(0), rows.parts[0].shape[1:-1]
    count = channels.numel()
    hidden = []
    for i in range(n):
        for c in range(count):
            row = torch.zeros(H, dtype=torch.float64, device=DEVICE) if rows.bias is None else rows.bias
            for part, at in zip(rows.parts, rows.columns, strict=True):
                row = row + rows.weight[:, at : at + part.size(-1)] @ (part[i, c] if part.dim() == 3 else part[i])
            if rows.own is not None:
                row = row + torch.cat([rows.own[i], rows.own.new_zeros(H - rows.own.size(1))])
            if rows.table is not None:
                entry = rows.table[0 if rows.entry is None else int(rows.entry[i])]
                row = row + (entry[c] if entry.dim() == 2 else entry)
            hidden.append(row)
    inner = torch.stack(hidden) if hidden else rows.weight.sum() * torch.zeros(0, H, dtype=torch.float64, device=DEVICE)
    inner = inner.view(n, *channels, H)
    if ending == "product":
        return inner
    if "past" in ending:
        return inner[..., :9].clamp(min=0) @ PAST.t() + inner[..., 9:]
    inner = inner.clamp(min=0)
    if ending.startswith("linear"):
        return inner @ W2.t() + (0 if "without" in ending else B2)
    if ending == "sum over channels":
        return inner.sum(1) if channels else inner
    owner = owners(n) if ending == "sum over sets" else torch.zeros(n, dtype=torch.long, device=DEVICE)
    sets = SETS if ending == "sum over sets" else 1
    return torch.stack([inner[owner == s].sum(0) for s in range(sets)])


def gradients(out: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    weights = torch.linspace(-1, 2, out.numel(), dtype=torch.float64, device=DEVICE).view(out.shape)
    found = torch.autograd.grad(out, inputs, weights, allow_unused=True, materialize_grads=True)
    return list(found)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("rows", [pytest.param(rows, id=name) for name, rows in shapes()])
def test_values_and_gradients_are_those_of_the_formula(way: str, rows: Rows, ending: str) -> None:
    out, expected = ENDINGS[ending](rows), written_out(rows, ending)
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    for got, want in zip(gradients(out, leaves(rows)), gradients(expected, leaves(rows)), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-11, atol=1e-11)


def graph(n: int = N, m: int = 60) -> tuple[Tensor, Tensor]:
    """Edges in no order, some of them twice; the last node has none."""
    source, target = torch.randint(0, n - 1, (2, m), generator=torch.Generator().manual_seed(5)).to(DEVICE)
    return source, target


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("shape", [(N, C, L), (N, D), (N,)])
def test_neighbour_sum_is_the_product_with_the_adjacency_matrix(way: str, shape: tuple[int, ...], scaled: bool) -> None:
    source, target = graph()
    dense = torch.zeros(N, N, dtype=torch.float64).index_put_(
        (target, source), torch.ones(60).double(), accumulate=True
    )
    scale = make(N, seed=3).detach() if scaled else None
    values = make(*shape, seed=2)
    expected = torch.einsum("ij,j...->i...", dense if scale is None else scale[:, None] * dense, values)
    out = neighbour_sum(values, Adjacency.of(source, target, N), scale)
    torch.testing.assert_close(out, expected, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(gradients(out, [values]), gradients(expected, [values]), rtol=1e-13, atol=1e-13)


def test_neighbour_sum_without_edges_is_zero(way: str) -> None:
    none = torch.zeros(0, dtype=torch.long, device=DEVICE)
    assert not neighbour_sum(make(3, C, L, seed=1), Adjacency.of(none, none, 3)).any()


def test_operators_keep_the_contract_of_torch(way: str) -> None:
    """Schema, fake, gradient and the tracing of dynamic sizes, as `torch.library.opcheck` tries them."""
    with torch.no_grad():  # `rows` and `rows_backward` are tied together by an autograd.Function
        parts, columns, *others = dict(shapes())["a table for every channel"]
        parts, others = [part.detach() for part in parts], [t if t is None else t.detach() for t in others]
        second, bias = W2.detach(), B2.detach()
    for ending, last in enumerate([(None,) * 3, (second, bias, None), (None,) * 3, (None, None, owners())]):
        arguments = (parts, columns, *others, *last)
        grad = torch.ones_like(ops.rows(*arguments, SETS, ending))
        torch.library.opcheck(ops.rows, (*arguments, SETS, ending))
        torch.library.opcheck(ops.rows_backward, (grad, *arguments, ending, [True, False] * 4))
    edges = Adjacency.of(*graph(), N)
    torch.library.opcheck(
        ops.neighbour_sum, (make(N, C, L, seed=2).detach(), *edges[:4], None, make(N, seed=3).detach())
    )


@pytest.mark.parametrize("wrong", [-1, SETS])
def test_an_index_without_a_place_is_an_error_and_touches_nothing(way: str, wrong: int) -> None:
    if DEVICE.type == "cuda":
        pytest.skip("on a GPU, an index without a place ends the process's use of it")
    index = owners()
    index[3] = wrong
    z, weight = make(N, C, L, seed=2), make(H, L, seed=5)
    with pytest.raises((IndexError, RuntimeError)):
        sum_sets(Rows((z,), (0,), weight), index, SETS)
    with pytest.raises((IndexError, RuntimeError)):
        product(Rows((z,), (0,), weight, table=make(SETS, C, H, seed=7), entry=index))


# torch.compile makes an instance of every autograd.Function that it meets
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_compiled_whole_and_for_every_size(way: str) -> None:
    def layer(z: Tensor, weight: Tensor, owner: Tensor, edges: Adjacency) -> Tensor:
        return sum_sets(Rows((z, neighbour_sum(z, edges)), (0, L), weight), owner, SETS)

    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (N, 7, 40):
        z, weight = make(n, C, L, seed=n), make(H, 2 * L, seed=2)
        arguments = (z, weight, owners(n), Adjacency.of(*graph(n), n))
        ours, theirs = compiled(*arguments), layer(*arguments)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(gradients(ours, [z, weight]), gradients(theirs, [z, weight]))


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("ending", ENDINGS)
def test_any_number_of_threads_gives_the_same(threads: int, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets and table entries that reach over the borders of threads, sorted (as graphs in a batch are) and not."""
    monkeypatch.setenv("ENGNN_KERNELS", "cpp")
    n, before = 400, torch.get_num_threads()
    for owner in (torch.arange(n, device=DEVICE) * SETS // n, owners(n), torch.zeros_like(owners(n))):
        rows = Rows((make(n, C, L, seed=2),), (0,), make(H, L, seed=5), make(H, seed=6), make(n, 2, seed=4))
        rows = rows._replace(table=make(SETS, C, H, seed=7), entry=owner)
        found = []
        for count in (1, threads):
            torch.set_num_threads(count)
            try:
                out = sum_sets(rows, owner, SETS) if ending == "sum over sets" else ENDINGS[ending](rows)
                found.append([out, *gradients(out, leaves(rows))])
            finally:
                torch.set_num_threads(before)
        torch.testing.assert_close(found[0], found[1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("ending", ["sum over channels", "sum over sets"])
def test_triton_leaves_to_plain_torch_what_must_not_depend_on_the_order_of_sums(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    rows = dict(shapes())["two parts"]
    monkeypatch.setenv("ENGNN_KERNELS", "torch")
    expected = ENDINGS[ending](rows)
    monkeypatch.setenv("ENGNN_KERNELS", "triton")
    if kernels.status(DEVICE.type).name != "triton":
        pytest.skip("kernels: triton cannot be had here")
    monkeypatch.setattr("engnn.kernels.gpu._forward", None)  # nobody launches it
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.equal(ENDINGS[ending](rows), expected)
    finally:
        torch.use_deterministic_algorithms(False)

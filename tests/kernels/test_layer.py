"""The kernel of a whole layer against the layer put together from operators, in double precision, there and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from engnn import kernels
from engnn.kernels import cpu, ops
from engnn.nn import ENConv
from engnn.sets import Neighbours, Sets

GRAPHS = 5


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGNN_KERNELS", "cpp")
    if isinstance(found := cpu.library(), str):
        pytest.skip(f"kernels: cpp cannot be had here ({found})")


def make(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def batch(n: int, kind: str) -> tuple[Tensor, Tensor]:
    """Edges (some twice, some nodes without) and the graph of each node; the last graph has no node."""
    generator = torch.Generator().manual_seed(n)
    owner = torch.arange(n) * (GRAPHS - 1) // max(n, 1)
    source, target = torch.randint(0, max(n - 1, 1), (2, 3 * n), generator=generator)
    if kind == "mixed":
        owner = owner[torch.randperm(n, generator=generator)]
    if kind in ("apart", "backwards"):
        within = owner[source] == owner[target]
        source, target = source[within], target[within]
    if kind == "backwards":
        owner = GRAPHS - 1 - owner
    return torch.stack([source, target]), owner


CASES: dict[str, dict[str, Any]] = {
    "graphs apart": {},
    "graphs in another order": {"kind": "backwards"},
    "nodes of graphs mixed": {"kind": "mixed"},
    "edges between graphs": {"kind": "across"},
    "no edge features": {"edge_dim": None},
    "no noise messages": {"noise_messages": False},
    "the noise added": {"residual": True, "widths": (3, 7, 4, 4)},
    "one channel": {"channels": 1},
    "more channels than a block": {"channels": 131, "n": 7},
    "widths of whole vectors": {"widths": (16, 32, 16, 16), "channels": 16},
    "blocks of many nodes": {"n": 700},
    "many edges": {"n": 40, "repeat": 9},
    "no edges": {"repeat": 0},
    "no nodes": {"n": 0},
}


def results(
    n: int = 31,
    kind: str = "apart",
    channels: int = 5,
    widths: tuple[int, int, int, int] = (3, 7, 4, 6),
    edge_dim: int | None = 2,
    repeat: int = 1,
    residual: bool = False,
    **about: Any,
) -> list[Tensor]:
    """What the layer says, and the gradients of all that it is made from."""
    torch.manual_seed(1)
    layer = ENConv(*widths, edge_dim=edge_dim, degree=3.0, typical=6.0, **about).double()
    edge_index, owner = batch(n, kind)
    edge_index = edge_index.repeat(1, repeat)
    x, z = make(n, widths[0], seed=2).requires_grad_(), make(n, channels, widths[2], seed=3).requires_grad_()
    edge_attr = None if edge_dim is None else make(edge_index.size(1), edge_dim, seed=4)
    out = layer(x, z, edge_index, edge_attr, owner, GRAPHS, residual)
    total = sum((one * make(*one.shape, seed=5)).sum() for one in out)
    return [*out, *torch.autograd.grad(total, [x, z, *layer.parameters()])]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which way the kernel was called each time."""
    called: list[bool] = []
    run = cpu._layer
    monkeypatch.setattr(cpu, "_layer", lambda back, *others: (called.append(back), run(back, *others)))
    return called


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_the_whole_is_its_parts(case: str, threads: int, calls: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours = results(**CASES[case])
    finally:
        torch.set_num_threads(before)
    assert calls == [False, True]
    monkeypatch.setattr(kernels, "LARGE", -1)
    theirs = results(**CASES[case])
    assert calls == [False, True]
    for got, want in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-11, atol=1e-12)


def unfit() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "large graphs", {"n": 2 * GRAPHS, "channels": kernels.LARGE // 6}
    yield "features that are a result", {"grad": True}
    yield "mixed precision", {"half": True}


@pytest.mark.parametrize("about", [pytest.param(about, id=name) for name, about in unfit()])
def test_what_it_is_not_for_is_left_to_the_operators(about: dict[str, Any], calls: list[bool]) -> None:
    n, channels = about.get("n", 9), about.get("channels", 2)
    edge_index, owner = batch(n, "apart")
    layer = ENConv(3, 4, 4, 4, edge_dim=2)
    edge_attr = torch.randn(edge_index.size(1), 2, requires_grad=about.get("grad", False))
    given = (torch.randn(n, 3), torch.randn(n, channels, 4), edge_index, edge_attr, owner, GRAPHS)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=about.get("half", False)):
        layer(*given)
    assert not calls


@pytest.mark.parametrize("wrong", ["x", "z", "edges", "batch"])
def test_sizes_that_do_not_agree_never_reach_it(wrong: str, calls: list[bool]) -> None:
    edge_index, owner = batch(9, "apart")
    x, z = torch.randn(9, 4 if wrong == "x" else 3), torch.randn(9, 2, 5 if wrong == "z" else 4)
    edge_attr = torch.randn(edge_index.size(1) - (wrong == "edges"), 2)
    edges, owner = Neighbours.from_edges(edge_index, 9).edges, owner[: 8 if wrong == "batch" else 9]
    weights, sizes = ENConv(3, 4, 4, 4, edge_dim=2).parameters(), torch.ones(GRAPHS, dtype=torch.long)
    assert kernels.layer((x, z, edge_attr), edges, owner, sizes, weights, (True, False), (4.0, 32.0, 1.0)) is None
    assert not calls


def test_its_operators_keep_the_contract_of_torch() -> None:
    edge_index, owner = batch(11, "apart")
    layer = ENConv(3, 7, 4, 6, edge_dim=2).double()
    pointer, source, back_pointer, back_source, order = Neighbours.from_edges(edge_index, 11).edges
    structure = [pointer, source, order, back_pointer, back_source, *Sets.of(owner, GRAPHS)[::2]]
    weights = [weight.detach() for weight in layer.parameters()]
    given = (make(11, 3, seed=1), make(11, 5, 4, seed=2), make(edge_index.size(1), 2, seed=3))
    others = (structure, weights, [True, False], [4.0, 32.0, 0.5])
    x2, z2, kept = ops.layer(*given, *others)
    torch.library.opcheck(ops.layer, (*given, *others))
    torch.library.opcheck(ops.layer_backward, (x2, z2, kept, *given, *others))

"""The asserts accept what keeps a symmetry and reject what does not, in the values or only in the gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from engnn.nn import ENGNN, ORTHOGONAL, ENConv, EquivariantAggregator
from engnn.testing import (
    Case,
    assert_batch_consistent,
    assert_channel_equivariant,
    assert_edge_order_invariant,
    assert_node_equivariant,
    permutations,
    rotations,
)

Check = Callable[..., None]
CHECKS: dict[str, Check] = {
    "nodes": assert_node_equivariant,
    "channels": assert_channel_equivariant,
    "batch": assert_batch_consistent,
    "edges": assert_edge_order_invariant,
}
EDGE_INDEX = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 5, 3, 5, 6], [1, 0, 2, 1, 4, 3, 5, 4, 5, 3, 6]])
BATCH = torch.tensor([0, 0, 0, 1, 1, 1, 1])


def case(dtype: torch.dtype = torch.double, noise: int = 2) -> Case:
    """Two graphs, a path and a triangle with a loop beside it, with random features."""
    torch.manual_seed(0)
    x, z, edge_attr = torch.randn(7, 3), torch.randn(7, 5, noise), torch.randn(11, 2)
    return Case(x.to(dtype), z.to(dtype), EDGE_INDEX, edge_attr.to(dtype), BATCH, 2, torch.tensor([[0, 2], [3, 6]]))


def layer(dtype: torch.dtype = torch.double, **options: object) -> Callable[[Case], tuple[Tensor, Tensor]]:
    torch.manual_seed(1)
    conv = ENConv(3, 8, 2, 4, edge_dim=2, **options).to(dtype)  # type: ignore[arg-type]
    return lambda c: conv(c.x, c.z, c.edge_index, c.edge_attr, c.batch, c.size)


def model(variant: str = "engnn", level: str = "graph", symmetry: str = "permutation") -> Callable[[Case], Tensor]:
    torch.manual_seed(1)
    net = ENGNN(
        3,
        8,
        2,
        2,
        noise_channels=5,
        noise_dim=4,
        noise="normal+normal",
        edge_dim=2,
        variant=variant,  # type: ignore[arg-type]
        level=level,  # type: ignore[arg-type]
        symmetry=symmetry,  # type: ignore[arg-type]
    ).double()

    def answer(c: Case) -> Tensor:
        targets = None if level == "graph" else c.targets.T if level == "link" else c.targets[:, 0]
        out: Tensor = net(
            c.x, c.edge_index, edge_attr=c.edge_attr, batch=c.batch, size=c.size, noise=c.z, targets=targets
        )
        return out

    return answer


def message(check: Check, function: Callable[[Case], object], given: Case, outputs: str | Sequence[str]) -> str:
    with pytest.raises(AssertionError) as raised:
        check(function, given, outputs)
    return str(raised.value)


# What is right is accepted.


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_layer_that_keeps_every_symmetry_is_accepted_in_every_precision(check: Check, dtype: torch.dtype) -> None:
    check(layer(dtype), case(dtype), ["node", "node channel"])


def test_a_layer_of_inner_products_is_accepted_under_rotations() -> None:
    assert_channel_equivariant(layer(symmetry=ORTHOGONAL), case(), ["node", "node channel"], group=rotations)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize(("level", "axes"), [("graph", "graph"), ("link", "target"), ("node", "target")])
def test_models_that_answer_for_graphs_or_targets_are_accepted(check: Check, level: str, axes: str) -> None:
    check(model(level=level), case(), axes)


@pytest.mark.parametrize("check", [assert_node_equivariant, assert_batch_consistent, assert_edge_order_invariant])
def test_a_layer_of_another_library_is_accepted(check: Check) -> None:
    torch.manual_seed(0)
    gin = GINConv(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8))).double()
    check(lambda c: gin(c.x, c.edge_index), case()._replace(z=None), "node")


def test_outputs_of_edges_and_outputs_that_nothing_changes_are_understood() -> None:
    def both(c: Case) -> tuple[Tensor, Tensor]:
        return (c.edge_attr * c.x[c.edge_index[0], :2]).tanh(), c.x.square().sum()

    assert_node_equivariant(both, case(), ["edge", ""])
    assert_edge_order_invariant(both, case(), ["edge", ""])
    assert_channel_equivariant(both, case(), ["edge", ""], group=rotations)


def test_a_group_of_ones_own_can_be_given() -> None:
    def signs(size: int, generator: torch.Generator) -> Tensor:
        return torch.diag(torch.randint(0, 2, (size,), generator=generator) * 2.0 - 1).double()

    assert_channel_equivariant(lambda c: c.z.abs().sum((1, 2)), case(), "node", group=signs)
    with pytest.raises(AssertionError, match="channels under signs: output 0"):
        assert_channel_equivariant(layer(), case(), ["node", "node channel"], group=signs)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_empty_cases_are_cases(check: Check) -> None:
    nothing = Case(torch.zeros(0, 3).double(), torch.zeros(0, 5, 2).double(), torch.zeros(2, 0).long(), batch=BATCH[:0])
    conv = ENConv(3, 8, 2, 4).double()
    check(lambda c: conv(c.x, c.z, c.edge_index, None, c.batch, c.size), nothing, ["node", "node channel"])


# What is broken is rejected, by the check it breaks and by no other.


def knows_nodes(c: Case) -> Tensor:
    return c.x + 0.01 * torch.arange(len(c.x))[:, None]


def knows_edges(c: Case) -> Tensor:
    """Of a node's edges, the last one written wins."""
    out = torch.zeros_like(c.x)
    out[c.edge_index[1]] = c.x[c.edge_index[0]]
    return out


def mixes_graphs(c: Case) -> Tensor:
    return c.x - 0.01 * c.x.mean(0)


def knows_channels(c: Case) -> Tensor:
    return c.x + c.z.mean(2) @ torch.linspace(0, 0.01, 5).double()[:, None]


class Tilted(torch.autograd.Function):
    """The identity, whose gradient is wrong by a factor along one axis: 1, 1.01, 1.02, …"""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: Tensor, dim: int) -> Tensor:
        ctx.dim = dim  # type: ignore[attr-defined]
        return values.clone()

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, slope: Tensor) -> tuple[Tensor, None]:
        dim: int = ctx.dim  # type: ignore[attr-defined]
        factor = 1 + 0.01 * torch.arange(slope.size(dim)).to(slope)
        return (slope.movedim(dim, -1) * factor).movedim(-1, dim), None


def tilted_nodes(c: Case) -> Tensor:
    tilted: Tensor = Tilted.apply(c.x, 0)
    return tilted.tanh()


def tilted_channels(c: Case) -> Tensor:
    tilted: Tensor = Tilted.apply(c.z, 1)
    return tilted.square().sum(1)


def tilted_edges(c: Case) -> Tensor:
    tilted: Tensor = Tilted.apply(c.edge_attr, 0)
    return torch.zeros(len(c.x), 2).double().index_add(0, c.edge_index[1], tilted)


def weighted() -> Callable[[Case], Tensor]:
    """A Linear, whose weight's gradient depends on the place in the batch."""
    weight = torch.ones(3, 3, dtype=torch.double, requires_grad=True)

    def function(c: Case) -> Tensor:
        each: Tensor = Tilted.apply(weight.expand(len(c.x), 3, 3), 0)
        return (each @ c.x[..., None])[..., 0]

    return function


BROKEN: dict[str, tuple[Callable[[Case], Tensor], str, str, list[str]]] = {
    # the function, the axes of its output, what is found, and the checks that must find it
    "knows nodes": (knows_nodes, "node", "output 0", ["nodes", "batch"]),
    "knows edges": (knows_edges, "node", "output 0", ["edges"]),
    "mixes graphs": (mixes_graphs, "node", "output 0", ["batch"]),
    "knows channels": (knows_channels, "node", "output 0", ["channels"]),
    "nmpnn": (model("nmpnn"), "graph", "output 0", ["channels"]),
    "gradient knows nodes": (tilted_nodes, "node", "gradient of x", ["nodes", "batch"]),
    "gradient knows channels": (tilted_channels, "node", "gradient of z", ["channels"]),
    "gradient knows edges": (tilted_edges, "node", "gradient of edge_attr", ["edges", "batch"]),
    "parameter's gradient knows nodes": (
        weighted(),
        "node",
        "gradient of a parameter [3, 3]",
        ["nodes", "batch"],
    ),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_layer_is_rejected_by_the_check_that_it_breaks(broken: str, check: str) -> None:
    function, axes, what, breaks = BROKEN[broken]
    if check in breaks:
        assert what in message(CHECKS[check], function, case(), axes)
    else:
        CHECKS[check](function, case(), axes)


@pytest.mark.parametrize("level", ["graph", "link", "node"])
def test_noise_as_plain_features_is_rejected_at_every_level(level: str) -> None:
    axes = "graph" if level == "graph" else "target"
    told = message(assert_channel_equivariant, model("nmpnn", level), case(), axes)
    assert told.startswith("channels under permutations: output 0")
    assert_channel_equivariant(model("mpnn", level), case(), axes)  # no noise, nothing to break


def test_a_layer_for_permutations_is_rejected_under_rotations() -> None:
    assert_channel_equivariant(layer(), case(), ["node", "node channel"], group=permutations)
    with pytest.raises(AssertionError, match="channels under rotations: output 0"):
        assert_channel_equivariant(layer(), case(), ["node", "node channel"], group=rotations)


def test_a_layer_whose_identities_sum_over_the_whole_batch_is_rejected() -> None:
    """The mistake that ψ invites: one sum for all the graphs of a batch."""
    conv = ENConv(3, 8, 2, 4).double()

    def mixing(c: Case) -> Sequence[Tensor]:
        out: Sequence[Tensor] = conv(c.x, c.z, c.edge_index)
        return out

    assert "a graph alone: output 0" in message(assert_batch_consistent, mixing, case(), ["node", "node channel"])


def test_sets_that_mix_graphs_are_rejected() -> None:
    aggregator = EquivariantAggregator(3, 8, 2, 4).double()
    outputs = ["node", "node channel"]
    assert_batch_consistent(lambda c: aggregator(c.x, c.z, c.batch, c.size), case(), outputs)
    assert "a graph alone" in message(assert_batch_consistent, lambda c: aggregator(c.x, c.z), case(), outputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_error_just_above_the_tolerance_is_found_and_one_below_is_not(dtype: torch.dtype) -> None:
    allowed = {torch.float64: 1e-12, torch.float32: 1e-5}[dtype]
    given = Case(torch.ones(4, 1, dtype=dtype), None, torch.zeros(2, 0).long())

    def wrong(c: Case, by: float) -> Tensor:
        return c.x + by * torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=dtype)[:, None]

    assert_node_equivariant(partial(wrong, by=allowed / 2), given, "node")
    told = message(assert_node_equivariant, partial(wrong, by=2 * allowed), given, "node")
    assert told.endswith(f"of the largest value; allowed is {allowed:g}")
    assert_node_equivariant(partial(wrong, by=2 * allowed), given, "node", tolerance=3 * allowed)


def test_a_value_that_is_no_number_is_rejected() -> None:
    given = Case(torch.tensor([[1.0], [float("nan")]]), None, torch.zeros(2, 0).long())
    assert "off by nan" in message(assert_node_equivariant, lambda c: c.x, given, "node")


def test_randomness_inside_is_told_as_such() -> None:
    dropout = nn.Dropout(0.5)
    told = message(assert_node_equivariant, lambda c: dropout(c.x), case(), "node")
    assert told.startswith("called twice (is dropout on, or noise drawn inside?): output 0 is off by")


def test_nothing_is_left_behind_in_the_module() -> None:
    conv = ENConv(3, 8, 2, 4).double()
    given = case()
    assert_node_equivariant(lambda c: conv(c.x, c.z, c.edge_index), given, ["node", "node channel"])
    assert all(parameter.grad is None for parameter in conv.parameters())
    assert given.x is not None
    assert not given.x.requires_grad


# A wrong call is told what is wrong.


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: assert_node_equivariant(layer(), case(), "node"), "the function returns 2 tensors, but the axes of 1"),
        (lambda: assert_node_equivariant(knows_nodes, case(), "nodes"), r"shape \[7, 3\], whose axis 0 is no 'nodes'"),
        (lambda: assert_node_equivariant(knows_nodes, case(), "graph"), "axis 0 is no 'graph'.*'graph': 2"),
        (
            lambda: assert_node_equivariant(lambda c: c.x.sum(), case(), "node"),
            r"shape \[\], whose axis 0 is no 'node'",
        ),
        (lambda: assert_channel_equivariant(knows_nodes, case()._replace(z=None), "node"), "the case has no noise z"),
        (lambda: assert_batch_consistent(knows_nodes, case()._replace(batch=None), "node"), "the case has no batch"),
        (
            lambda: assert_batch_consistent(knows_nodes, case()._replace(batch=BATCH.flip(0)), "node"),
            "an edge of the case leads from one graph to another",
        ),
        (
            lambda: assert_node_equivariant(lambda c: c.edge_index, Case(None, None, EDGE_INDEX), ""),
            "neither x nor z nor batch",
        ),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(call: Callable[[], None], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()

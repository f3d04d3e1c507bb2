"""Asserts that a layer, a readout or a model keeps the symmetries it is meant to keep; for anybody's modules.

What is tested is a function of a `Case`, which hands the case's tensors to a module, and the axes of what it returns:

>>> from engnn.nn import ENConv
>>> conv = ENConv(3, 8, 2, 4).double()
>>> def layer(case):
...     return conv(case.x, case.z, case.edge_index, batch=case.batch, size=case.size)
>>> edge_index = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
>>> x, z, batch = torch.randn(5, 3).double(), torch.randn(5, 7, 2).double(), torch.tensor([0, 0, 0, 1, 1])
>>> case = Case(x, z, edge_index, batch=batch, size=2)
>>> assert_node_equivariant(layer, case, ["node", "node channel"])
>>> assert_channel_equivariant(layer, case, ["node", "node channel"], group=permutations)
>>> assert_batch_consistent(layer, case, ["node", "node channel"])
>>> assert_edge_order_invariant(layer, case, ["node", "node channel"])

The axes of an output are named in their order, one of `node`, `channel` (of the noise), `edge`, `graph`, `target`; axes
after the named ones stay as they are, and "" is an output that nothing changes.

Gradients are held to the same: those of x, z and edge_attr, and of every parameter on which the outputs depend, for one
random weighting of the outputs. Dropout has to be off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""The largest error allowed, as a share of the largest value, for the coarsest precision that takes part."""
AXES = {"x": "node", "z": "node channel", "edge_attr": "edge"}  # the inputs that have gradients
TRIALS = 4  # random elements of a group that are tried


class Case(NamedTuple):
    """A batch of graphs, as a module is given it."""

    x: Tensor | None  # [n, …]
    z: Tensor | None  # [n, C, …]
    edge_index: Tensor  # [2, m]
    edge_attr: Tensor | None = None  # [m, …]
    batch: Tensor | None = None  # [n], the graph of each node
    size: int = 1  # the number of graphs
    targets: Tensor | None = None  # [T] or [T, k], the nodes of each target

    def sizes(self) -> dict[str, int]:
        """The length of each axis that the case has."""
        nodes = next((t for t in (self.x, self.z, self.batch) if t is not None), None)
        known = {"node": (nodes, 0), "channel": (self.z, 1), "edge": (self.edge_index, 1), "target": (self.targets, 0)}
        return {"graph": self.size} | {name: t.size(dim) for name, (t, dim) in known.items() if t is not None}


Function = Callable[[Case], Tensor | Sequence[Tensor]]
Group = Callable[[int, torch.Generator], Tensor]


def permutations(size: int, generator: torch.Generator) -> Tensor:
    """A random permutation matrix, not the identity.

    >>> permutations(2, torch.Generator()).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return torch.eye(size, dtype=torch.double).index_select(0, _order(size, generator))


def rotations(size: int, generator: torch.Generator) -> Tensor:
    """A random orthogonal matrix: a rotation, or one with a reflection.

    >>> q = rotations(3, torch.Generator())
    >>> torch.allclose(q @ q.T, torch.eye(3).double())
    True
    """
    q: Tensor = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.double))[0]
    return q


def assert_node_equivariant(
    function: Function, case: Case, outputs: str | Sequence[str], *, tolerance: float | None = None
) -> None:
    """Nodes in another order (those of a batch's graphs mixed) give the same outputs, in that order.

    >>> case = Case(torch.ones(3, 1), None, torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> assert_node_equivariant(lambda case: case.x + torch.arange(3.0)[:, None], case, "node")
    Traceback (most recent call last):
    AssertionError: nodes in another order: output 0 (node) is off by ... of the largest value; allowed is 1e-05
    """
    if "node" not in case.sizes():
        raise ValueError("the case has neither x nor z nor batch: nothing tells how many nodes there are")
    changes = []
    for generator in _generators():
        order = _order(case.sizes()["node"], generator).to(case.edge_index.device)
        changes.append([Change({"node": _select(order)}, number=order.argsort())])
    _compare("nodes in another order", function, case, outputs, changes, tolerance)


def assert_channel_equivariant(
    function: Function,
    case: Case,
    outputs: str | Sequence[str],
    *,
    group: Group = permutations,
    tolerance: float | None = None,
) -> None:
    """Noise z whose channels undergo `group` gives the same outputs, whose channels have undergone the same.

    `group` makes orthogonal matrices `[C, C]` at random: `permutations`, `rotations`, or one of your own.

    >>> case = Case(None, torch.randn(4, 3), torch.empty(2, 0, dtype=torch.long))
    >>> assert_channel_equivariant(lambda case: case.z.sum(1), case, "node", group=permutations)
    >>> assert_channel_equivariant(lambda case: case.z.sum(1), case, "node", group=rotations)
    Traceback (most recent call last):
    AssertionError: channels under rotations: output 0 (node) is off by ... of the largest value; allowed is 1e-05
    """
    if case.z is None:
        raise ValueError("the case has no noise z, whose channels were to be changed; give one")
    matrices = [group(case.z.size(1), generator).to(case.z.device) for generator in _generators()]
    changes = [[Change({"channel": _multiply(matrix)})] for matrix in matrices]
    claim = f"channels under {getattr(group, '__name__', 'the group')}"
    _compare(claim, function, case, outputs, changes, tolerance)


def assert_edge_order_invariant(
    function: Function, case: Case, outputs: str | Sequence[str], *, tolerance: float | None = None
) -> None:
    """Edges in another order, with their features, give the same outputs (those that are one an edge: in that order).

    >>> case = Case(torch.arange(3.0), None, torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> assert_edge_order_invariant(lambda case: case.x[case.edge_index[0]], case, "edge")
    """
    orders = [_order(case.edge_index.size(1), generator).to(case.edge_index.device) for generator in _generators()]
    changes = [[Change({"edge": _select(order)})] for order in orders]
    _compare("edges in another order", function, case, outputs, changes, tolerance)


def assert_batch_consistent(
    function: Function, case: Case, outputs: str | Sequence[str], *, tolerance: float | None = None
) -> None:
    """Each graph of the batch gives the same outputs alone; the parameters' gradients are the sums over graphs.

    >>> case = Case(torch.randn(5, 2), None, torch.empty(2, 0).long(), batch=torch.tensor([0, 0, 1, 1, 1]), size=2)
    >>> assert_batch_consistent(lambda case: case.x - case.x.mean(0), case, "node")
    Traceback (most recent call last):
    AssertionError: a graph alone: output 0 (node) is off by ... of the largest value; allowed is 1e-05
    """
    if case.batch is None:
        raise ValueError("the case has no batch, whose graphs were to be tried alone; give one")
    start, end = case.batch[case.edge_index]
    if not torch.equal(start, end):
        raise ValueError("an edge of the case leads from one graph to another: a graph alone could not have it")
    owner = (
        case.batch
        if case.targets is None
        else case.batch[case.targets.T[0] if case.targets.dim() > 1 else case.targets]
    )
    changes = []
    for graph in range(case.size):
        node, edge, target = ((of == graph).nonzero()[:, 0] for of in (case.batch, start, owner))
        axes = {"node": node, "edge": edge, "target": target, "graph": node.new_tensor([graph])}
        number = torch.empty_like(case.batch).index_copy_(0, node, torch.arange(len(node), device=node.device))
        changes.append(Change({name: _select(kept) for name, kept in axes.items()}, number, alone=True))
    _compare("a graph alone", function, case, outputs, [changes], tolerance)


class Change(NamedTuple):
    """What is done along each named axis, and each node's new number (None: the old one)."""

    axes: dict[str, Callable[[Tensor, int], Tensor]]
    number: Tensor | None = None
    alone: bool = False  # whether what is left is one graph

    def on(self, values: Tensor, axes: str) -> Tensor:
        for dim, name in enumerate(axes.split()):
            if name in self.axes:
                values = self.axes[name](values, dim)
        return values

    def of(self, case: Case) -> Case:
        axes = {**AXES, "edge_index": "end edge", "batch": "node", "targets": "target"}
        given = {name: values for name, values in case._asdict().items() if isinstance(values, Tensor)}
        new: dict[str, Any] = {name: self.on(values, axes[name]) for name, values in given.items()}
        if self.number is not None:
            new |= {name: self.number[new[name]] for name in ("edge_index", "targets") if name in new}
        if self.alone:
            new |= {"batch": torch.zeros_like(new["batch"]), "size": 1}
        return case._replace(**new)


def _compare(
    claim: str,
    function: Function,
    case: Case,
    outputs: str | Sequence[str],
    changes: Sequence[Sequence[Change]],
    tolerance: float | None,
) -> None:
    """To change a case and evaluate it is to evaluate it and change the outputs.

    A change may have several parts, which together are the whole case: their parameters' gradients add up to its own.
    """
    axes = [outputs] if isinstance(outputs, str) else list(outputs)
    values, gradients, weights = _evaluate(function, case, None)
    if len(values) != len(axes):
        raise ValueError(f"the function returns {len(values)} tensors, but the axes of {len(axes)} are given: {axes}")
    for i, (out, names) in enumerate(zip(values, axes, strict=True)):
        for dim, name in enumerate(names.split()):
            if out.dim() <= dim or out.size(dim) != case.sizes().get(name):
                shape = f"output {i} has shape {list(out.shape)}"
                raise ValueError(f"{shape}, whose axis {dim} is no {name!r}; the case has {case.sizes()}")
    precisions = [t.dtype for t in (*values, case.x, case.z, case.edge_attr) if t is not None]
    allowed = max(TOLERANCE.get(dtype, 0.0) for dtype in precisions) if tolerance is None else tolerance
    scale = {"value": _largest(values) or 1.0, "gradient": _largest(gradients.values()) or 1.0}

    def hold(what: str, kind: str, found: Tensor, expected: Tensor, claim: str = claim) -> None:
        if found.shape != expected.shape:
            raise AssertionError(
                f"{claim}: {what} has shape {list(found.shape)}, but should have {list(expected.shape)}"
            )
        error = _largest([found.double() - expected.double()]) / scale[kind]
        if not error <= allowed:  # so that nan is told too
            off = f"{what} is off by {error:.3g} of the largest {kind}; allowed is {allowed:g}"
            raise AssertionError(f"{claim}: {off}")

    for i, (again, once) in enumerate(zip(_outputs(function(case)), values, strict=True)):
        hold(f"output {i}", "value", again.detach(), once, "called twice (is dropout on, or noise drawn inside?)")
    for parts in changes:
        total = {leaf: torch.zeros_like(leaf, dtype=torch.double) for leaf in gradients if isinstance(leaf, Tensor)}
        for change in parts:
            weighed = [change.on(weight, names) for weight, names in zip(weights, axes, strict=True)]
            found, slopes, _ = _evaluate(function, change.of(case), weighed)
            for i, (out, whole) in enumerate(zip(found, values, strict=True)):
                hold(f"output {i} ({axes[i] or 'invariant'})", "value", out, change.on(whole, axes[i]))
            for leaf, slope in slopes.items():
                if isinstance(leaf, str):
                    hold(f"gradient of {leaf}", "gradient", slope, change.on(gradients[leaf], AXES[leaf]))
                else:
                    total[leaf] = total.get(leaf, 0) + slope.double()
        for leaf, slope in total.items():
            hold(f"gradient of a parameter {list(leaf.shape)}", "gradient", slope, gradients.get(leaf, 0 * slope))


def _evaluate(
    function: Function, case: Case, weights: list[Tensor] | None
) -> tuple[list[Tensor], dict[str | Tensor, Tensor], list[Tensor]]:
    """The outputs; the gradients of their weighted sum for each input (by name) and parameter; the weights."""
    inputs = {name: getattr(case, name) for name in AXES}
    inputs = {
        n: t.detach().clone().requires_grad_() for n, t in inputs.items() if t is not None and t.is_floating_point()
    }
    outputs = _outputs(function(case._replace(**inputs)))
    if weights is None:
        generator = torch.Generator().manual_seed(0)
        weights = [torch.randn(out.shape, generator=generator, dtype=torch.double).to(out) for out in outputs]
    own = {id(t) for t in inputs.values()}
    leaves: dict[str | Tensor, Tensor] = dict(inputs) | {t: t for t in _leaves(outputs) if id(t) not in own}
    summands = [(out * weight).sum() for out, weight in zip(outputs, weights, strict=True) if out.requires_grad]
    found = torch.autograd.grad(summands, list(leaves.values()), allow_unused=True) if summands and leaves else ()
    gradients = {key: torch.zeros_like(t) for key, t in leaves.items()}
    gradients |= {key: slope for key, slope in zip(leaves, found, strict=False) if slope is not None}
    return [out.detach() for out in outputs], gradients, weights


def _outputs(returned: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [returned] if isinstance(returned, Tensor) else list(returned)


def _leaves(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """The tensors at which the outputs' gradients end."""
    seen, waiting = set(), [out.grad_fn for out in outputs]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(before for before, _ in node.next_functions)
            if hasattr(node, "variable"):
                yield node.variable


def _largest(tensors: Iterable[Tensor]) -> float:
    return max((float(t.double().abs().max()) for t in tensors if t.numel()), default=0.0)


def _generators() -> list[torch.Generator]:
    return [torch.Generator().manual_seed(trial) for trial in range(TRIALS)]


def _order(size: int, generator: torch.Generator) -> Tensor:
    """A random permutation, not the identity where there is another."""
    order = torch.arange(size)
    while size > 1 and torch.equal(order, torch.arange(size)):
        order = torch.randperm(size, generator=generator)
    return order


def _select(index: Tensor) -> Callable[[Tensor, int], Tensor]:
    return lambda values, dim: values.index_select(dim, index)


def _multiply(matrix: Tensor) -> Callable[[Tensor, int], Tensor]:
    def multiplied(values: Tensor, dim: int) -> Tensor:
        changed: Tensor = torch.tensordot(values.double(), matrix, ([dim], [1]))
        return changed.movedim(-1, dim).to(values.dtype)

    return multiplied

"""Noise per type of nodes, messages per relation."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from engnn.boosting import HeteroEquivariantNoise
from engnn.errors import InputError

WRITES, BY, CITES = ("author", "writes", "paper"), ("paper", "by", "author"), ("paper", "cites", "paper")
RELATIONS = [WRITES, BY, CITES]
SIZES, C, L = {"author": 3, "paper": 4}, 5, 4
EDGES = {
    WRITES: torch.tensor([[0, 1, 2, 2], [0, 0, 1, 3]]),
    BY: torch.tensor([[0, 0, 1], [0, 1, 2]]),
    CITES: torch.tensor([[0, 3], [2, 2]]),
}


def convolutions() -> dict[str, nn.Module]:
    meta = (["author", "paper"], RELATIONS)
    sage = {relation: pyg.SAGEConv((-1, -1), 8) for relation in RELATIONS}
    return {
        "HeteroConv": pyg.HeteroConv(sage),
        "HGT": pyg.HGTConv({"author": 2, "paper": 3}, 8, meta, heads=2),
        "HAN": pyg.HANConv({"author": 2, "paper": 3}, 8, meta, heads=2),
    }


def layer(name: str = "HeteroConv", **options: Any) -> HeteroEquivariantNoise:
    torch.manual_seed(0)
    conv = convolutions()[name]
    out = {"author": 8, "paper": 8}
    return HeteroEquivariantNoise(conv, out, RELATIONS, noise_channels=C, noise_dim=L, **options).double()


def inputs() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    torch.manual_seed(1)
    x = {"author": torch.randn(3, 2).double(), "paper": torch.randn(4, 3).double()}
    return x, {name: torch.randn(n, C, L).double() for name, n in SIZES.items()}


@pytest.mark.parametrize("name", ["HeteroConv", "HGT", "HAN"])
def test_it_is_equivariant_to_nodes_of_each_type_and_to_channels(name: str) -> None:
    wrapped, (x, z) = layer(name).eval(), inputs()
    with torch.no_grad():
        out, noise = wrapped(x, z, EDGES)
        turn = torch.randperm(C)
        again, turned = wrapped(x, {key: value[:, turn] for key, value in z.items()}, EDGES)
        order = {"author": torch.tensor([2, 0, 1]), "paper": torch.tensor([3, 1, 0, 2])}
        number = {key: value.argsort() for key, value in order.items()}
        edges = {(s, r, t): torch.stack([number[s][e[0]], number[t][e[1]]]) for (s, r, t), e in EDGES.items()}
        moved, moved_noise = wrapped(*({key: v[order[key]] for key, v in given.items()} for given in (x, z)), edges)
    for key in SIZES:
        torch.testing.assert_close(again[key], out[key])
        torch.testing.assert_close(turned[key], noise[key][:, turn])
        torch.testing.assert_close(moved[key], out[key][order[key]])
        torch.testing.assert_close(moved_noise[key], noise[key][order[key]])


def test_noise_travels_along_each_relation_and_no_further() -> None:
    wrapped, (x, z) = layer(), inputs()
    for branch in wrapped.branches.values():  # ψ sees all nodes of a type, as it has to
        nn.init.zeros_(branch.psi.mlp2.lin2.weight)
    _, before = wrapped(x, z, EDGES)
    for source in SIZES:
        moved = {**z, source: z[source].index_fill(0, torch.tensor([0]), 1.0)}
        _, after = wrapped(x, moved, EDGES)
        for target, n in SIZES.items():
            changed = {i for i in range(n) if not torch.allclose(after[target][i], before[target][i])}
            reached = {
                int(j) for (s, _, t), e in EDGES.items() if (s, t) == (source, target) for i, j in e.T if int(i) == 0
            }
            assert changed == reached | ({0} if source == target else set())


def test_relations_have_weights_of_their_own_and_gradients_reach_them() -> None:
    wrapped, (x, z) = layer(), inputs()
    wrapped(x, z, EDGES)  # by which the widths are known
    out, noise = wrapped(x, z, EDGES)
    sum(value.square().sum() for value in [*out.values(), *noise.values()]).backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in wrapped.lins.parameters())
    assert len({id(p) for p in wrapped.lins.parameters()}) == 3


def test_with_branches_of_zeros_x_is_that_of_the_convolution() -> None:
    wrapped, (x, z) = layer(zero_init=True), inputs()
    said = []
    wrapped.conv.register_forward_hook(lambda module, given, out: said.append(out))
    out, _ = wrapped(x, z, EDGES)
    assert all(torch.equal(out[key], said[0][key]) for key in SIZES)


@pytest.mark.filterwarnings("ignore:There exist node types")
def test_a_type_that_nothing_is_said_of_keeps_its_noise() -> None:
    conv = pyg.HeteroConv({WRITES: pyg.SAGEConv((2, 3), 8)})
    wrapped = HeteroEquivariantNoise(conv, {"paper": 8}, [WRITES], noise_channels=C, noise_dim=L).double()
    x, z = inputs()
    out, noise = wrapped(x, z, {WRITES: EDGES[WRITES]})
    assert out.keys() == {"paper"}
    assert torch.equal(noise["author"], z["author"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x, z: (x, z["paper"], EDGES), "a dict, but is Tensor"),
        (lambda x, z: (x, {"paper": z["paper"]}, EDGES), "the noise of 'author' is missing"),
        (
            lambda x, z: (x, {**z, "paper": z["paper"][:, :3]}, EDGES),
            r"noise of 'paper' is \[4, 3, 4\], but .* \[4, 5, 4\]",
        ),
        (lambda x, z: (x, z, {**EDGES, ("a", "b", "c"): EDGES[BY]}), r"\('a', 'b', 'c'\) was not among relations="),
    ],
)
def test_bad_use_is_told_with_what_to_change(change: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        layer()(*change(*inputs()))


def test_a_width_that_is_not_the_convolutions_is_told() -> None:
    conv = convolutions()["HeteroConv"]
    wrong = HeteroEquivariantNoise(conv, {"author": 8, "paper": 7}, RELATIONS, noise_channels=C, noise_dim=L).double()
    with pytest.raises(InputError, match="8 columns for 'paper'"):
        wrong(*inputs(), EDGES)

"""The contract of EquivariantNoise, over the convolutions of PyG that people use; and what it says of bad use."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg
from torch_geometric.utils import to_torch_csr_tensor

from engnn import noise as noises
from engnn.boosting import EquivariantNoise
from engnn.boosting.branch import Messages
from engnn.errors import InputError
from engnn.nn import ORTHOGONAL
from engnn.testing import (
    Case,
    assert_batch_consistent,
    assert_channel_equivariant,
    assert_edge_order_invariant,
    assert_node_equivariant,
    rotations,
)

D, C, L, E = 8, 6, 8, 3  # widths of x; noise channels; width of z; of edge features
AXES = ["node", "node channel"]


def mlp(d: int) -> nn.Module:
    return nn.Sequential(nn.Linear(d, D), nn.Tanh(), nn.Linear(D, D))


class Contract(NamedTuple):
    """How a convolution is made for inputs of width d, and what else it takes."""

    make: Callable[[int], nn.Module]
    takes: tuple[str, ...] = ()
    width: int | None = None  # out_channels=, where it has to be said
    graphs: bool = True  # whether nodes of a batch's graphs may be mixed


CONTRACTS = {
    "GCN": Contract(lambda d: pyg.GCNConv(d, D), ("edge_weight",)),
    "GIN": Contract(lambda d: pyg.GINConv(mlp(d), train_eps=True), ("size",)),
    "GINE": Contract(lambda d: pyg.GINEConv(mlp(d), edge_dim=E), ("edge_attr", "size")),
    "SAGE": Contract(lambda d: pyg.SAGEConv(d, D), ("size",)),
    "GAT": Contract(lambda d: pyg.GATConv(d, D // 2, heads=2, edge_dim=E), ("edge_attr", "size")),
    "GATv2": Contract(lambda d: pyg.GATv2Conv(d, D, heads=2, concat=False, edge_dim=E), ("edge_attr",)),
    "Transformer": Contract(lambda d: pyg.TransformerConv(d, D // 2, heads=2, edge_dim=E), ("edge_attr",)),
    "PNA": Contract(
        lambda d: pyg.PNAConv(d, D, ["mean", "max", "std"], ["identity", "amplification"], torch.ones(5), edge_dim=E),
        ("edge_attr",),
    ),
    "Graph": Contract(lambda d: pyg.GraphConv(d, D), ("edge_weight", "size")),
    "Cheb": Contract(lambda d: pyg.ChebConv(d, D, K=3), ("edge_weight", "batch")),
    "ARMA": Contract(lambda d: pyg.ARMAConv(d, D, num_stacks=2), ("edge_weight",)),
    "TAG": Contract(lambda d: pyg.TAGConv(d, D), ("edge_weight",)),
    "SG": Contract(lambda d: pyg.SGConv(d, D, K=2), ("edge_weight",)),
    "APPNP": Contract(lambda d: pyg.APPNP(K=3, alpha=0.1), ("edge_weight",), width=D),
    "ResGated": Contract(lambda d: pyg.ResGatedGraphConv(d, D, edge_dim=E), ("edge_attr",)),
    "GEN": Contract(lambda d: pyg.GENConv(d, D, edge_dim=E), ("edge_attr", "size")),
    "FiLM": Contract(lambda d: pyg.FiLMConv(d, D)),
    # it takes the nodes of a batch graph by graph only
    "GPS": Contract(lambda d: pyg.GPSConv(d, pyg.GCNConv(d, D), heads=2), ("edge_weight", "batch"), graphs=False),
}
EACH = pytest.mark.parametrize("name", CONTRACTS)


def layer(name: str, **options: Any) -> EquivariantNoise:
    torch.manual_seed(0)
    contract = CONTRACTS[name]
    options = {"noise_channels": C, "noise_dim": L, "out_channels": contract.width} | options
    return EquivariantNoise(contract.make(D), **options).double().eval()


def case() -> Case:
    """Two graphs, each edge there both ways."""
    torch.manual_seed(1)
    ends = torch.tensor([[0, 1, 2, 0, 3, 5, 6, 7, 5], [1, 2, 3, 2, 4, 6, 7, 8, 7]])
    edge_index = torch.cat([ends, ends.flip(0)], 1)
    x, z = torch.randn(9, D).double(), torch.randn(9, C, L).double()
    edge_attr = torch.rand(9, E).double().repeat(2, 1)
    return Case(x, z, edge_index, edge_attr, batch=(torch.arange(9) >= 5).long(), size=2)


def function(name: str, wrapped: EquivariantNoise) -> Callable[[Case], tuple[Tensor, Tensor]]:
    takes = CONTRACTS[name].takes

    def call(given: Case) -> tuple[Tensor, Tensor]:
        assert given.edge_attr is not None
        n = given.x.size(0)
        known = {"edge_attr": given.edge_attr, "edge_weight": given.edge_attr[:, 0], "size": (n, n)}
        return wrapped(
            given.x,
            given.z,
            given.edge_index,
            batch=given.batch,
            batch_size=given.size,
            **{key: value for key, value in known.items() if key in takes},
        )

    return call


def bare(name: str, conv: nn.Module, given: Case) -> Tensor:
    """What the convolution alone says of the case."""
    assert given.edge_attr is not None
    known = {"edge_attr": given.edge_attr, "edge_weight": given.edge_attr[:, 0], "batch": given.batch}
    out: Tensor = conv(
        given.x.requires_grad_(),
        given.edge_index,
        **{key: value for key, value in known.items() if key in CONTRACTS[name].takes},
    )
    return out


def unmoved(module: nn.Module) -> set[str]:
    """The parameters to which no gradient has come."""
    return {key for key, p in module.named_parameters() if p.grad is None or not p.grad.abs().max() > 0}


@EACH
@pytest.mark.parametrize("noise_messages", [True, False])
def test_it_is_equivariant_to_nodes_and_channels_and_knows_graphs_apart(name: str, noise_messages: bool) -> None:
    call = function(name, layer(name, noise_messages=noise_messages))
    given = case()
    assert_channel_equivariant(call, given, AXES)
    assert_edge_order_invariant(call, given, AXES)
    assert_batch_consistent(call, given, AXES)
    if not CONTRACTS[name].graphs:
        given = Case(given.x, given.z, given.edge_index, given.edge_attr, torch.zeros(9).long())
    assert_node_equivariant(call, given, AXES)


@EACH
def test_with_the_larger_group_channels_may_be_rotated(name: str) -> None:
    assert_channel_equivariant(function(name, layer(name, symmetry=ORTHOGONAL)), case(), AXES, group=rotations)


def test_rotations_are_seen_by_a_layer_made_for_permutations() -> None:
    with pytest.raises(AssertionError, match="rotations"):
        assert_channel_equivariant(function("GCN", layer("GCN")), case(), AXES, group=rotations)


@EACH
def test_what_the_convolution_takes_reaches_it(name: str) -> None:
    given, wrapped = case(), layer(name, zero_init=True)
    with torch.no_grad():
        whole, _ = function(name, wrapped)(given)
        for key in {"edge_attr", "edge_weight"} & {*CONTRACTS[name].takes}:
            other, _ = function(name, wrapped)(given._replace(edge_attr=1 + given.edge_attr**2))
            assert not torch.allclose(whole, other), key
        if "batch" in CONTRACTS[name].takes and name == "GPS":
            other, _ = function(name, wrapped)(given._replace(batch=torch.zeros_like(given.batch), size=1))
            assert not torch.allclose(whole, other)


@EACH
def test_with_branches_of_zeros_x_is_that_of_the_convolution_to_the_bit(name: str) -> None:
    for wrapped, same in ((layer(name, zero_init=True), True), (layer(name), False)):
        wrapped.reset_parameters()
        said: list[Tensor] = []
        wrapped.conv.register_forward_hook(lambda module, given, out, said=said: said.append(out))
        assert torch.equal(function(name, wrapped)(case())[0], said[0]) == same


@EACH
def test_gradients_reach_every_parameter(name: str) -> None:
    wrapped = layer(name)
    given = case()
    given.x.requires_grad_()
    x, z = function(name, wrapped)(given)
    (x.square().sum() + z.square().sum()).backward()
    still = unmoved(wrapped)  # a bias before a softmax over neighbours moves nothing, as in the bare convolution
    wrapped.zero_grad()
    bare(name, wrapped.conv, given).square().sum().backward()
    assert still <= {f"conv.{key}" for key in unmoved(wrapped.conv)}


@EACH
def test_its_state_goes_round(name: str) -> None:
    one, other = layer(name), layer(name)
    other.reset_parameters()
    with torch.no_grad():
        before = function(name, one)(case())
        if [*other.parameters()]:
            assert not torch.equal(function(name, other)(case())[1], before[1])
        other.load_state_dict(one.state_dict())
        assert all(torch.equal(a, b) for a, b in zip(function(name, other)(case()), before, strict=True))


class Model(nn.Module):
    """Two layers and a sum over nodes: bare, or with noise."""

    def __init__(self, name: str, noisy: bool) -> None:
        super().__init__()
        contract, self.noisy, self.takes = CONTRACTS[name], noisy, CONTRACTS[name].takes
        convs = [contract.make(D) for _ in range(2)]
        options: dict[str, Any] = {"noise_channels": C, "noise_dim": L, "out_channels": contract.width}
        wrapped = [EquivariantNoise(conv, noise_in=1 if i == 0 else L, **options) for i, conv in enumerate(convs)]
        self.layers = nn.ModuleList(wrapped if noisy else convs)

    def forward(self, edge_index: Tensor, z: Tensor) -> Tensor:
        x, m = torch.ones(6, D).double(), edge_index.size(1)
        known = {"edge_attr": torch.ones(m, E).double(), "edge_weight": torch.ones(m).double()}
        options = {key: value for key, value in known.items() if key in self.takes}
        for conv in self.layers:
            if self.noisy:
                x, z = conv(x, z, edge_index, **options)
            else:
                x = conv(x, edge_index, **options)
        return x.sum(0)


@EACH
def test_it_tells_apart_two_triangles_and_a_hexagon_which_the_convolution_cannot(name: str) -> None:
    """With marks, one a node, every draw says the same: the difference is the graphs', not the noise's."""
    ring = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    threes = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]])
    graphs = [torch.cat([edges, edges.flip(0)], 1) for edges in (ring, threes)]
    torch.manual_seed(0)
    bare, noisy = Model(name, False).double().eval(), Model(name, True).double().eval()
    marks = [noises.sample("onehot", 6, C, seed=seed).double() * C**0.5 for seed in (0, 1)]
    with torch.no_grad():
        assert torch.allclose(bare(graphs[0], marks[0]), bare(graphs[1], marks[0]), rtol=1e-9)
        one, again, other = noisy(graphs[0], marks[0]), noisy(graphs[0], marks[1]), noisy(graphs[1], marks[0])
    assert torch.allclose(one, again, rtol=1e-9)
    assert (one - other).abs().max() > 1e-6 * one.abs().max()  # a thousand times what rounding may do


@pytest.mark.parametrize(
    "conv",
    [pyg.SAGEConv((D, 5), D), pyg.GraphConv((D, 5), D), pyg.GATConv((D, 5), D, add_self_loops=False)],
    ids=lambda conv: type(conv).__name__,
)
@pytest.mark.parametrize(("sources", "targets"), [(7, 3), (2, 6)])
def test_bipartite_graphs_give_noise_to_the_targets(conv: nn.Module, sources: int, targets: int) -> None:
    torch.manual_seed(0)
    wrapped = EquivariantNoise(conv, noise_channels=C, noise_dim=L)
    x, z = (torch.randn(sources, D), torch.randn(targets, 5)), (torch.randn(sources, C, L), torch.randn(targets, C, L))
    edge_index = torch.stack([torch.arange(12) % sources, torch.arange(12) % targets])
    out, noise = wrapped(x, z, edge_index, size=(sources, targets))
    assert out.shape == (targets, D)
    assert noise.shape == (targets, C, L)
    # the oracle: the same edges in one graph, in which the sources are nodes behind the targets
    whole = torch.cat([z[1], z[0]])
    found = Messages.of(edge_index, z[0], num_targets=targets, degree=4.0).sum(z[0])
    moved_on = edge_index + torch.tensor([[targets], [0]])
    square = Messages.of(moved_on, whole, num_targets=targets + sources, degree=4.0).sum(whole)
    torch.testing.assert_close(found, square[:targets])
    # and a target's noise depends on the sources that it is joined to, by name
    moved = (z[0].clone().index_fill_(0, torch.tensor([0]), 0.0), z[1])
    changed = (wrapped(x, moved, edge_index, size=(sources, targets))[1] - noise).abs().flatten(1).amax(1) > 1e-6
    joined = torch.isin(torch.arange(targets), edge_index[1, edge_index[0] == 0])
    assert torch.equal(changed, joined)


def test_a_sparse_adjacency_is_read_as_pyg_reads_it() -> None:
    given, wrapped = case(), layer("SAGE")
    oneway = given.edge_index[:, :9]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that its sparse tensors are a beta
        adjacency = to_torch_csr_tensor(oneway.flip(0), torch.ones(9).double(), size=(9, 9))
        found = wrapped(given.x, given.z, adjacency)
    for one, other in zip(found, wrapped(given.x, given.z, oneway), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("lazy", [pyg.GCNConv(-1, D), pyg.SAGEConv((-1, -1), D), pyg.GATConv(-1, D)])
def test_a_convolution_that_learns_its_width_later_can_be_wrapped(lazy: nn.Module) -> None:
    wrapped = EquivariantNoise(lazy, noise_channels=C, noise_dim=L)
    assert wrapped(torch.randn(3, 5), torch.randn(3, C, L), torch.tensor([[0, 1], [1, 0]]))[0].shape == (3, D)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no convolution": (lambda: EquivariantNoise(nn.Linear(3, 3), noise_channels=C, noise_dim=L), "no convolution"),
    "a class": (lambda: EquivariantNoise(pyg.GCNConv, noise_channels=C, noise_dim=L), "no convolution"),
    "hyperedges": (
        lambda: EquivariantNoise(pyg.HypergraphConv(3, 3), noise_channels=C, noise_dim=L),
        "HypergraphConv is not supported: its edge_index joins nodes and hyperedges",
    ),
    "no width": (lambda: EquivariantNoise(pyg.APPNP(2, 0.1), noise_channels=C, noise_dim=L), "pass out_channels="),
    "no channels": (lambda: EquivariantNoise(pyg.GCNConv(3, 3), noise_channels=0, noise_dim=L), "noise_channels=0"),
    "wrong width": (
        lambda: layer("GCN", out_channels=5)(case().x, case().z, case().edge_index),
        "pass out_channels=8",
    ),
    "missing noise": (lambda: layer("GCN")(case().x, case().edge_index, None), "z should be noise"),
    "noise of None": (lambda: layer("GCN")(case().x, None, case().edge_index), "is NoneType; this layer is called as"),
    "other channels": (
        lambda: layer("GCN")(case().x, case().z[:, :5], case().edge_index),
        "z has 5 channels, but the layer was made with noise_channels=6",
    ),
    "other L": (lambda: layer("GCN")(case().x, case().z[..., :2], case().edge_index), "make it with noise_in=2"),
    "kinds": (lambda: layer("GCN")(case().x, case().z[None], case().edge_index), r"should have \[n, C, L\]"),
    "other nodes": (lambda: layer("GCN")(case().x, case().z[1:], case().edge_index), "returned 9 nodes, but z has 8"),
    "attention": (
        lambda: layer("GAT")(
            case().x, case().z, case().edge_index, edge_attr=case().edge_attr, return_attention_weights=True
        ),
        "without attention weights",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_use_is_told_with_what_to_change(bad: str) -> None:
    call, told = BAD[bad]
    with pytest.raises(InputError, match=told):
        call()

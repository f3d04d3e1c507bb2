"""A boosted model says what the model said until it is trained, and then more than the model could."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.nn import models

from engnn.boosting import boost
from engnn.boosting.branch import Messages
from engnn.errors import InputError
from engnn.testing import Case, assert_batch_consistent, assert_channel_equivariant, assert_node_equivariant


class Own(nn.Module):
    """A model of one's own, with convolutions at two depths and one of them in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.first = pyg.GCNConv(3, 8)
        self.block = nn.ModuleDict({"again": pyg.GATConv(8, 4, heads=2), "last": pyg.GraphConv(8, 5)})

    def forward(self, data: Data) -> Tensor:
        x = self.first(data.x, data.edge_index).relu()
        for _ in range(2):
            x = x + self.block["again"](x, data.edge_index).relu()
        return self.block["last"](x, data.edge_index)


def sequential() -> nn.Module:
    return pyg.Sequential(
        "x, edge_index, batch",
        [
            (pyg.GCNConv(3, 8), "x, edge_index -> x"),
            nn.ReLU(),
            (pyg.GINConv(nn.Linear(8, 8)), "x, edge_index -> x"),
            (pyg.global_add_pool, "x, batch -> x"),
            nn.Linear(8, 5),
        ],
    )


SHAPE = {"in_channels": 3, "hidden_channels": 8, "num_layers": 3, "out_channels": 5}
PNA = {"aggregators": ["mean", "max"], "scalers": ["identity"], "deg": torch.ones(5)}
MODELS: dict[str, Callable[[], nn.Module]] = {
    "GCN": lambda: models.GCN(**SHAPE, norm="layer", jk="cat"),
    "GIN": lambda: models.GIN(**SHAPE, dropout=0.5),
    "GAT": lambda: models.GAT(**SHAPE, heads=2, v2=True),
    "SAGE": lambda: models.GraphSAGE(**SHAPE, act_first=True),
    "PNA": lambda: models.PNA(**SHAPE, **PNA),
    "a convolution": lambda: pyg.SAGEConv(3, 5),
    "Sequential": sequential,
    "own": Own,
}
EACH = pytest.mark.parametrize("name", MODELS)
BY_DATA, POOLED = {"own"}, {"Sequential"}


def make(name: str) -> nn.Module:
    torch.manual_seed(0)
    return MODELS[name]()


def graphs() -> Data:
    torch.manual_seed(1)
    ends = torch.tensor([[0, 1, 2, 0, 3, 5, 6, 7, 5], [1, 2, 3, 2, 4, 6, 7, 8, 7]])
    edge_index = torch.cat([ends, ends.flip(0)], 1)
    return Data(torch.randn(9, 3), edge_index, batch=(torch.arange(9) >= 5).long())


def call(name: str, model: nn.Module, data: Data, **options: Any) -> Tensor:
    if name in BY_DATA:
        return model(data, **options)
    batch = {"batch": data.batch} if name != "a convolution" or "noise" in options else {}
    return model(data.x, data.edge_index, **batch, **options)


@EACH
def test_at_the_start_it_says_what_the_model_says_to_the_bit(name: str) -> None:
    model, data = make(name), graphs()
    boosted, twin = boost(model), boost(model, zero_init=False)
    for mode in (True, False):
        for each in (model, boosted, twin):
            each.train(mode)
        said = []
        for each, options in ((model, {}), (boosted, {"noise": 3}), (twin, {"noise": 3})):
            torch.manual_seed(5)  # of the dropout
            said.append(call(name, each, data, **options))
        assert torch.equal(said[0], said[1])
        assert not torch.allclose(said[0], said[2])


@EACH
def test_after_a_step_it_says_something_else_and_the_model_is_as_it_was(name: str) -> None:
    model, data = make(name), graphs()
    before = deepcopy(model.state_dict())
    boosted = boost(model)
    optimizer = torch.optim.SGD(boosted.parameters(), lr=0.1)
    start = call(name, boosted, data, noise=0).detach()
    for _ in range(2):  # the branches of zeros move first, and what is behind them next
        optimizer.zero_grad()
        call(name, boosted, data, noise=0).square().sum().backward()
        optimizer.step()
    assert not torch.allclose(call(name, boosted, data, noise=0), start)
    assert boosted.lin_z.weight.grad is not None
    assert boosted.lin_z.weight.grad.abs().max() > 0
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in before.items())


@EACH
def test_it_keeps_the_symmetries(name: str) -> None:
    boosted = boost(make(name), zero_init=False, noise_channels=6, noise="normal").double().eval()
    data = graphs()

    def answer(case: Case) -> Tensor:
        given = Data(case.x, case.edge_index, batch=case.batch)
        return call(name, boosted, given, noise=case.z)

    case = Case(data.x.double(), torch.randn(9, 6).double(), data.edge_index, batch=data.batch, size=2)
    axis = "graph" if name in POOLED else "node"
    assert_channel_equivariant(answer, case, axis)
    assert_node_equivariant(answer, case, axis)
    assert_batch_consistent(answer, case, axis)


@EACH
def test_its_state_goes_round_and_its_attributes_are_the_models(name: str) -> None:
    one, other = boost(make(name), zero_init=False), boost(make(name), zero_init=False)
    other.reset_parameters()
    data = graphs()
    one.eval(), other.eval()
    other.load_state_dict(one.state_dict())
    assert torch.equal(call(name, other, data, noise=1), call(name, one, data, noise=1))
    for attribute in ("in_channels", "hidden_channels", "num_layers", "out_channels", "supports_edge_weight"):
        if hasattr(one.model, attribute):
            assert getattr(one, attribute) == getattr(make(name), attribute)
    with pytest.raises(AttributeError):
        _ = one.no_such_thing


def test_attributes_of_convolutions_stay_reachable() -> None:
    model = make("GAT")
    boosted = boost(model)
    assert boosted.convs[0].heads == 2
    torch.testing.assert_close(boosted.convs[1].lin_l.weight, model.convs[1].lin_l.weight)


def test_graphs_have_the_noise_of_their_names_whatever_the_batch() -> None:
    boosted, data = boost(make("GCN"), zero_init=False).eval(), graphs()
    names = torch.tensor([17, 4])
    both = boosted(data.x, data.edge_index, noise=2, batch=data.batch, graph_id=names)
    alone = boosted(data.x[5:], data.edge_index[:, (data.edge_index[0] >= 5)] - 5, noise=2, graph_id=names[1:])
    torch.testing.assert_close(both[5:], alone)
    other = boosted(data.x, data.edge_index, noise=3, batch=data.batch, graph_id=names)
    assert not torch.allclose(both, other)


def test_noise_is_torchs_own_unless_it_is_given() -> None:
    boosted, data = boost(make("GCN"), zero_init=False).eval(), graphs()
    torch.manual_seed(3)
    one, next_one = boosted(data.x, data.edge_index), boosted(data.x, data.edge_index)
    torch.manual_seed(3)
    assert torch.equal(boosted(data.x, data.edge_index), one)
    assert not torch.equal(one, next_one)
    noise = boosted.sample_noise(9, seed=7)
    assert torch.equal(boosted(data.x, data.edge_index, noise=noise), boosted(data.x, data.edge_index, noise=7))


def test_the_noise_and_the_batch_of_a_data_are_used() -> None:
    boosted = boost(make("own"), zero_init=False).eval()
    one, data = graphs(), graphs()
    one.noise = boosted.sample_noise(9, seed=7)
    assert torch.equal(boosted(one), boosted(data, noise=one.noise))
    batch = Batch.from_data_list([Data(data.x[:5], data.edge_index[:, data.edge_index[0] < 5])] * 2)
    said = boosted(batch, noise=torch.cat([one.noise[:5]] * 2))
    torch.testing.assert_close(said[:5], said[5:])
    torch.testing.assert_close(said[:5], boosted(batch[0], noise=one.noise[:5]))


def test_layers_that_drop_the_nodes_of_the_outer_hops_say_the_same_of_the_seeds() -> None:
    boosted = boost(models.GraphSAGE(3, 8, num_layers=2, out_channels=5), noise_messages=True, zero_init=False).eval()
    # 0 is asked about, 1 and 2 are its neighbours, 3 and 4 theirs
    edge_index, x = torch.tensor([[1, 2, 3, 4], [0, 0, 1, 2]]), torch.randn(5, 3)
    noise = boosted.sample_noise(5, seed=0)
    psi = [carrier.layer.branch.psi for carrier in boosted.convs]
    for each in psi:  # which sees the nodes that are dropped, as it has to
        nn.init.zeros_(each.mlp2.lin2.weight)
        nn.init.zeros_(each.mlp2.lin2.bias)
    whole = boosted(x, edge_index, noise=noise)
    trimmed = boosted(x, edge_index, noise=noise, num_sampled_nodes_per_hop=[1, 2, 2], num_sampled_edges_per_hop=[2, 2])
    torch.testing.assert_close(trimmed[:1], whole[:1])


def test_a_copy_is_on_its_own() -> None:
    boosted, data = boost(make("GCN"), zero_init=False).eval(), graphs()
    copied = deepcopy(boosted)
    said = boosted(data.x, data.edge_index, noise=1)
    assert torch.equal(copied(data.x, data.edge_index, noise=1), said)
    copied.reset_parameters()
    assert not torch.equal(copied(data.x, data.edge_index, noise=1), said)
    assert torch.equal(boosted(data.x, data.edge_index, noise=1), said)


class Points(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.PointNetConv(nn.Linear(5, 8))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(x, x[:, :2], edge_index)


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.pool, self.conv2 = pyg.GCNConv(3, 8), pyg.TopKPooling(8), pyg.GCNConv(8, 8)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x, edge_index, *_ = self.pool(self.conv1(x, edge_index), edge_index)
        return self.conv2(x, edge_index)


def hetero() -> HeteroData:
    data = HeteroData()
    data["a"].x = torch.randn(2, 3)
    return data


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a class": (lambda: boost(models.GCN), "give the module itself"),
    "no convolution": (lambda: boost(models.MLP([3, 3])), "MLP has no MessagePassing layer"),
    "several types": (
        lambda: boost(pyg.HeteroConv({("a", "to", "a"): pyg.SAGEConv(3, 3)})),
        "HeteroConv is not supported: .* HeteroEquivariantNoise",
    ),
    "no width": (lambda: boost(nn.Sequential(pyg.APPNP(2, 0.1))), r"pass out_channels=; in boost, widths=\{'0': …\}"),
    "no symmetry": (lambda: boost(make("GCN"), symmetry="none"), "permutation or orthogonal; .* AddNoiseFeatures"),
    "a kind": (lambda: boost(make("GCN"), noise="norml"), "'norml' .* did you mean 'normal'"),
    "noise of other channels": (
        lambda: boost(make("GCN"))(graphs().x, graphs().edge_index, noise=torch.randn(9, 5, 2)),
        r"noise has shape \[9, 5, 2\], but this model takes \[9, 16, 2\]",
    ),
    "pooling": (lambda: boost(Pooled())(graphs().x, graphs().edge_index), "from 9 to 5 nodes .* pooling"),
    "points": (
        lambda: boost(Points(), widths={"conv": 8})(graphs().x, graphs().edge_index),
        r"only convolutions called as conv\(x, edge_index, …\) fit",
    ),
    "twice": (lambda: boost(boost(make("GCN"))), "boosted already"),
    "a part alone": (lambda: boost(make("GCN")).convs[0](graphs().x, graphs().edge_index), "call the boosted model"),
    "nodes of several types": (lambda: boost(make("own"))(hetero()), "one type of nodes"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_use_is_told_with_what_to_change(bad: str) -> None:
    call, told = BAD[bad]
    with pytest.raises(InputError, match=told):
        call()


def test_a_width_that_cannot_be_told_may_be_given() -> None:
    model = pyg.Sequential("x, edge_index", [(pyg.APPNP(2, 0.1), "x, edge_index -> x")])
    boosted = boost(model, widths={"module_0": 3})
    assert torch.equal(boosted(graphs().x, graphs().edge_index), model(graphs().x, graphs().edge_index))


def test_the_noise_that_the_last_convolution_hands_on_can_be_had() -> None:
    boosted, data = boost(make("GIN"), zero_init=False, noise_channels=6, noise_dim=4).eval(), graphs()
    said, z = boosted(data.x, data.edge_index, noise=1, return_noise=True)
    assert torch.equal(said, boosted(data.x, data.edge_index, noise=1))
    assert z.shape == (9, 6, 4)
    # it is equivariant: channels dealt anew are the same channels in their new places
    noise, order = boosted.sample_noise(9, seed=1), torch.tensor([3, 0, 5, 1, 2, 4])
    _, dealt = boosted(data.x, data.edge_index, noise=noise[:, order], return_noise=True)
    torch.testing.assert_close(dealt, z[:, order])


class TwoEdges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = pyg.GCNConv(3, 8), pyg.GCNConv(8, 8)

    def forward(self, x: Tensor, one: Tensor, two: Tensor) -> Tensor:
        return self.two(self.one(x, one), two)


def test_layers_share_what_is_made_of_the_edges_if_those_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made, of = [], Messages.of
    monkeypatch.setattr(Messages, "of", lambda *given, **more: made.append(given) or of(*given, **more))
    boosted, data = boost(TwoEdges(), zero_init=False), graphs()
    edges, copied = data.edge_index, data.edge_index.clone()
    said = [boosted(data.x, edges, two, noise=0) for two in (edges, copied)]
    assert [id(edge_index) for edge_index, _ in made] == [id(edges), id(edges), id(copied)]
    assert torch.equal(*said)


def test_after_an_error_the_model_can_be_called_again() -> None:
    boosted, data = boost(make("GCN")), graphs()
    with pytest.raises(RuntimeError, match="index"):
        boosted(data.x, data.edge_index + 5)
    assert boosted(data.x, data.edge_index).shape == (9, 5)

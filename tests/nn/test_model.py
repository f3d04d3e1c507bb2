"""ENGNN on what users bring: no features, no edges, one node or channel, no targets, other precisions, PyG data."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from engnn.nn import ENGNN, SubsetReadout
from engnn.sets import Sets

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1, 1])
LEVELS = ["node", "link", "subgraph", "graph"]


def targets(level: str, count: int = 2) -> Any:
    """`count` targets of one kind, in six nodes of two graphs."""
    nodes = torch.arange(count)
    return {"node": nodes, "link": torch.stack([nodes, nodes]), "subgraph": (nodes, nodes, count), "graph": None}[level]


def model(level: Any = "graph", *, in_channels: int = 0, **options: Any) -> ENGNN:
    torch.manual_seed(0)
    return ENGNN(in_channels, 8, 2, 2, **{"noise_channels": 6, "noise_dim": 4, "level": level, **options})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("variant", ["engnn", "mpnn", "nmpnn"])
def test_every_level_and_variant_answers_each_target_and_trains(level: str, variant: str) -> None:
    net = model(level, in_channels=3, variant=variant, dropout=0.1)
    out = net(torch.randn(6, 3), EDGES, batch=BATCH, targets=targets(level), noise=0)
    assert out.shape == (2, 2)
    out.square().sum().backward()
    unused = {name for name, weight in net.named_parameters() if weight.grad is None}
    assert not unused


@pytest.mark.parametrize("level", ["node", "link", "subgraph"])
def test_no_targets_give_no_answers_and_zero_gradients(level: str) -> None:
    net = model(level)
    out = net(None, EDGES, batch=BATCH, targets=targets(level, 0), noise=0)
    assert out.shape == (0, 2)
    out.sum().backward()
    assert all(weight.grad is None or not weight.grad.any() for weight in net.parameters())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (6, 0), (1, 1)])
def test_one_node_or_no_edges_are_graphs_too(level: str, nodes: int, edges: int) -> None:
    net = model(level, noise_channels=1)
    given = targets(level, 1)
    out = net(None, torch.zeros(2, edges, dtype=torch.long), targets=given, num_nodes=nodes, noise=0)
    assert out.shape == (1, 2)
    assert out.isfinite().all()


def test_graphs_without_nodes_are_answered_when_the_size_says_so() -> None:
    out = model()(None, EDGES, batch=BATCH, size=4, noise=0)
    assert out.shape == (4, 2)
    assert torch.equal(out[2], out[3])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_give_the_same_answers_in_their_own_dtype(level: str, dtype: torch.dtype) -> None:
    net = model(level, in_channels=3, symmetry="permutation").eval()
    x = torch.randn(6, 3)
    wanted = net(x, EDGES, batch=BATCH, targets=targets(level), noise=5)
    out = net.to(dtype)(x.to(dtype), EDGES, batch=BATCH, targets=targets(level), noise=5)
    assert out.dtype == dtype
    assert torch.allclose(out.float(), wanted, atol=0.05 if dtype == torch.bfloat16 else 1e-5)
    out.sum().backward()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("symmetry", ["permutation", "orthogonal", "none"])
def test_autocast_on_the_cpu_trains_and_stays_near(level: str, symmetry: str) -> None:
    net = model(level, in_channels=3, symmetry=symmetry, edge_dim=1)
    about: dict[str, Any] = {"edge_attr": torch.randn(6, 1), "batch": BATCH, "targets": targets(level), "noise": 5}
    x = torch.randn(6, 3)
    wanted = net(x, EDGES, **about)
    with torch.autocast("cpu", torch.bfloat16):
        out = net(x, EDGES, **about)
        loss = out.float().square().sum()
    loss.backward()
    assert torch.allclose(out.float(), wanted, atol=0.1)
    assert all(w.grad is not None and w.grad.dtype == torch.float32 for w in net.parameters())


def test_the_same_seed_gives_the_same_answer_and_others_differ() -> None:
    net = model(noise="normal")
    one, again, other = (net(None, EDGES, noise=seed) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)


def test_without_a_seed_torchs_generator_governs() -> None:
    net = model(noise="normal")
    torch.manual_seed(7)
    one, two = net(None, EDGES), net(None, EDGES)
    torch.manual_seed(7)
    assert torch.equal(net(None, EDGES), one)
    assert not torch.allclose(one, two)


def test_a_graph_has_the_same_answer_in_every_batch_when_it_is_called_by_its_id() -> None:
    net = model(noise="normal").double()
    both = net(None, EDGES, batch=BATCH, graph_id=torch.tensor([8, 3]), noise=1)
    alone = net(
        None,
        torch.tensor([[0, 1], [1, 0]]),
        batch=torch.zeros(3, dtype=torch.long),
        graph_id=torch.tensor([3]),
        noise=1,
    )
    assert torch.allclose(both[1], alone[0], rtol=1e-12, atol=1e-12)


def test_mpnn_ignores_the_noise_and_engnn_does_not() -> None:
    for variant, ignores in (("mpnn", True), ("engnn", False), ("nmpnn", False)):
        net = model(variant=variant, noise="normal")
        assert torch.allclose(net(None, EDGES, noise=1), net(None, EDGES, noise=2)) == ignores


@pytest.mark.parametrize("kind", ["onehot", "orthogonal"])
def test_lengths_do_not_shrink_with_the_channels(kind: str) -> None:
    """Noise of every kind reaches the layers with mean square 1, so that C may be changed alone."""
    heard: list[Tensor] = []
    for channels in (8, 64):
        net = model(noise=kind, noise_channels=channels)
        net.lin_z.register_forward_pre_hook(lambda _, args: heard.append(args[0]))
        net(None, EDGES, noise=0)
    assert [float(z.square().mean()) for z in heard] == pytest.approx([1, 1], abs=1e-5)


def test_predict_averages_probabilities_over_draws() -> None:
    net = model("node", output="class", noise="normal")
    data = Data(edge_index=EDGES, num_nodes=6)
    mean, spread = net.predict(data, draws=5, seed=3)
    each = torch.stack(
        [net(None, EDGES, num_nodes=6, noise=net.sample_noise(6, seed=3, draw=draw)).softmax(-1) for draw in range(5)]
    )
    assert torch.allclose(mean, each.mean(0), atol=1e-6)
    assert torch.allclose(spread, each.std(0, correction=0), atol=1e-6)
    assert torch.allclose(mean.sum(-1), torch.ones(6))


def test_predict_takes_what_pyg_makes() -> None:
    net = model("graph", noise="normal").double()
    one, two = Data(edge_index=EDGES[:, :4], num_nodes=3), Data(edge_index=EDGES[:, :2], num_nodes=3)
    empty = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=0)
    batch = Batch.from_data_list([one, two, empty])
    plain = Data(edge_index=batch.edge_index, batch=batch.batch, num_nodes=6)
    assert net.predict(batch, draws=2).mean.shape == (3, 2)
    assert torch.allclose(net.predict(batch, draws=2).mean[:2], net.predict(plain, draws=2).mean)
    assert torch.allclose(net.predict(batch, draws=2).mean[0], net.predict(one, draws=2).mean[0])
    links = model("link").predict(Data(edge_index=EDGES, edge_label_index=EDGES[:, :3], num_nodes=6), draws=2)
    assert links.mean.shape == (3, 2)


def test_predict_leaves_the_model_as_it_was() -> None:
    net = model(dropout=0.5)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    net.predict(Data(edge_index=EDGES, num_nodes=6))
    assert net.training
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())


def test_reset_parameters_draws_every_weight_anew_and_by_the_seed() -> None:
    net = model(edge_dim=2, in_channels=3)
    before = {name: value.clone() for name, value in net.named_parameters()}
    net.reset_parameters()
    same = {name for name, value in net.named_parameters() if torch.equal(value, before[name])}
    assert same == {name for name in before if name.startswith("norms")}  # normalisations always begin alike
    torch.manual_seed(0)
    net.reset_parameters()
    again = {name: value.clone() for name, value in net.named_parameters()}
    torch.manual_seed(0)
    net.reset_parameters()
    assert all(torch.equal(value, again[name]) for name, value in net.named_parameters())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: model(in_channels=3)(None, EDGES), "in_channels=3, but no x"),
        (lambda: model()(torch.ones(6, 2), EDGES), "in_channels=0, but x has 2 columns"),
        (lambda: model(noise="normal")(None, EDGES, noise=torch.ones(5, 4)), r"\[5, 4\].*\[5, 6\].*noise_channels=6"),
        (lambda: model()(None, EDGES, noise=torch.ones(6, 6)), r"\[6, 6\].*\[6, 6, 2\]"),
        (lambda: model(edge_dim=2)(None, EDGES), "edge_dim"),
        (lambda: model()(None, EDGES, edge_attr=torch.ones(6, 2)), "edge_dim"),
        (lambda: model(noise="gaussian"), "noise kind 'gaussian'"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_change(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_a_readout_for_sets_asks_for_targets() -> None:
    x = torch.randn(3, 4)
    with pytest.raises(ValueError, match="targets are needed"):
        SubsetReadout(4, 4, 1, 2)(x, torch.randn(3, 5, 2), Sets.given(None, None, x))


def test_weights_survive_a_round_trip_and_a_copy() -> None:
    net, other = model(), model()
    other.reset_parameters()
    other.load_state_dict(net.state_dict())
    assert torch.equal(net(None, EDGES, noise=1), other(None, EDGES, noise=1))

"""What saves memory changes no answer: recomputed layers, chunks of any size, kernels; and it does save memory."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engnn import kernels
from engnn.bench.machine import saved_bytes
from engnn.kernels import plain
from engnn.nn.model import ENGNN

N, SIZE = 30, 3


def model(**changed: bool) -> ENGNN:
    torch.manual_seed(0)
    return ENGNN(2, 8, 1, 3, noise_channels=6, noise_dim=4, edge_dim=1, **changed).double()


def answer(net: ENGNN) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    edges = torch.randint(N, (2, 90), generator=generator)
    x, edge_attr = torch.randn(N, 2, generator=generator).double(), torch.randn(90, 1, generator=generator).double()
    batch = torch.arange(N) * SIZE // N
    out: Tensor = net(x, edges, edge_attr=edge_attr, batch=batch, noise=5, size=SIZE)
    return out


def gradients(net: ENGNN) -> list[Tensor]:
    found = torch.autograd.grad(answer(net).sum(), list(net.parameters()), allow_unused=True, materialize_grads=True)
    return list(found)


def test_recomputed_layers_give_the_same_and_keep_less() -> None:
    usual, again = model(), model(recompute=True)
    torch.testing.assert_close(answer(usual), answer(again), rtol=0, atol=0)
    torch.testing.assert_close(gradients(usual), gradients(again), rtol=0, atol=0)
    assert saved_bytes(lambda: answer(again)) < 0.6 * saved_bytes(lambda: answer(usual))


@pytest.mark.parametrize("chunk", [1, 100, 1 << 30])
def test_the_result_is_the_same_for_every_chunk(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    net = model()
    monkeypatch.setenv("ENGNN_KERNELS", "off")
    out, of = answer(net), gradients(net)
    monkeypatch.setenv("ENGNN_KERNELS", "torch")
    monkeypatch.setattr(plain, "CHUNK", chunk)
    torch.testing.assert_close(answer(net), out, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradients(net), of, rtol=1e-10, atol=1e-12)


def test_operators_keep_less_than_plain_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    net = model()
    kept = {}
    for way in ("off", "torch", "cpp"):
        monkeypatch.setenv("ENGNN_KERNELS", way)
        kept[way] = saved_bytes(lambda: answer(net))
    assert kept["torch"] < 0.8 * kept["off"]
    if kernels.status().name == "cpp":
        assert kept["cpp"] < kept["torch"]


# torch.compile makes an instance of every autograd.Function that it meets
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_a_whole_model_compiles_to_one_graph_for_all_sizes() -> None:
    torch.compiler.reset()
    net = ENGNN(1, 8, 1, 1, noise_channels=3, noise_dim=4).double()
    compiled = torch.compile(net, fullgraph=True, dynamic=True, backend="eager")
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for n in (12, 20, 31):
        edges = torch.randint(n, (2, 2 * n))
        given = (torch.randn(n, 1).double(), edges)
        batch, noise = torch.arange(n) * 2 // n, torch.randn(n, 3, 2).double()
        ours, theirs = (one(*given, batch=batch, noise=noise, size=2) for one in (compiled, net))
        torch.testing.assert_close(ours, theirs)
        weights = list(net.parameters())
        ours, theirs = (
            torch.autograd.grad(one.sum(), weights, materialize_grads=True, allow_unused=True) for one in (ours, theirs)
        )
        torch.testing.assert_close(ours, theirs)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == before + 1

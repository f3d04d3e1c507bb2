"""What the benchmarks measure is what they say they measure. No test here looks at a clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from engnn.bench import growth, layers
from engnn.bench.layers import Batch, MessagePassing, Setting
from engnn.bench.machine import interleaved, peak_bytes, saved_bytes, ways
from engnn.cli import main
from engnn.kernels import status

TINY = Setting(noise_channels=3, noise_dim=4, hidden=8, graphs=3, nodes=20, edges=30, layers=2)


def test_steps_are_taken_in_turn_and_the_first_turn_does_not_count() -> None:
    called: list[str] = []
    times = interleaved({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, 2)
    assert called == ["a", "b"] * 3
    assert times["a"].repetitions == 2
    assert 0 <= times["b"].best <= times["b"].median
    assert 0 <= times["b"].processor_best <= times["b"].processor_median


def test_saved_bytes_counts_what_is_kept_twice_once() -> None:
    x = torch.ones(100, requires_grad=True)
    assert saved_bytes(lambda: x.exp()) == 400
    assert saved_bytes(lambda: (y := x.exp(), y * y)) == 400
    assert saved_bytes(lambda: x + 1) == 0


def test_peak_bytes_sees_what_is_freed_again() -> None:
    def step() -> None:
        torch.ones(12_500_000).sum()

    peak = peak_bytes(step)
    if peak is None:
        pytest.skip("the system does not tell a process's peak memory")
    assert 40e6 < peak < 200e6
    assert (peak_bytes(lambda: None) or 0) < 20e6


def test_ways_are_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGNN_KERNELS", "torch")
    with ways("off"):
        assert status().name == "off"
    assert status().name == "torch"


def test_batches_have_the_sizes_of_the_setting_and_no_edge_between_graphs() -> None:
    given = Batch.of(TINY)
    source, target = given.edge_index
    assert given.edge_index.size(1) == TINY.edges
    assert torch.equal(given.batch[source], given.batch[target])
    assert given.batch.bincount().tolist() == [7, 7, 6]
    pairs = set(map(tuple, given.edge_index.t().tolist()))
    assert pairs == {(b, a) for a, b in pairs}


def test_plain_message_passing_is_what_it_says() -> None:
    given, layer = Batch.of(TINY), MessagePassing(TINY.hidden)
    source, target = given.edge_index
    each = (layer.node(given.x[source]) + layer.edge(given.edge_attr)).relu()
    total = torch.stack([layer.message(each[target == i].sum(0)) for i in range(TINY.nodes)])
    out = layer.lin2(layer.lin1(torch.cat([given.x, total], 1)).relu())
    torch.testing.assert_close(layer(given.x, given.edge_index, given.edge_attr), out, rtol=1e-4, atol=1e-5)


def test_layers_compares_four_with_two_of_them() -> None:
    result = layers.run(1, (TINY,))
    rows = {row["layer"]: row for row in result["settings"][0]["rows"]}
    assert list(rows) == ["gine", "mpnn", "enconv, pure torch", "enconv"]
    assert rows["gine"]["times_gine"] == rows["mpnn"]["times_mpnn"] == rows["mpnn"]["saved_times_mpnn"] == 1
    assert all(row["saved_bytes"] > 0 for row in rows.values())
    assert result["revision"] is None or len(result["revision"]) >= 40
    assert len(layers.table(result)) == 5
    json.dumps(result, allow_nan=False)


def test_growth_fits_a_slope_to_each_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "SMALL", replace(growth.SMALL, hidden=4))
    monkeypatch.setattr(growth, "CHANNELS", (2, 4))
    monkeypatch.setattr(growth, "WIDTHS", (2, 4))
    monkeypatch.setattr(growth, "LARGE_EDGES", 100)
    monkeypatch.setattr(growth, "LARGE_NODES", 20)
    result = growth.run(1, (10, 40, 160))
    assert [row["edges"] for row in result["sweeps"]["edges"]["rows"]] == [10, 40, 160]
    assert result["large"]["edges"] == 100
    assert len({len(row) for row in growth.table(result)}) == 1


def test_a_slope_is_that_of_the_power_law() -> None:
    sizes = [10.0, 100.0, 1000.0, 10000.0]
    assert growth.exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert growth.exponent(sizes, [0.0] * 4) is None


@pytest.mark.parametrize("what", ["epoch", "peers"])
def test_a_batch_of_zinc(what: str, open_or_skip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    open_or_skip("zinc")
    from engnn.bench import epoch, peers

    for module in (epoch, peers):
        monkeypatch.setattr(module, "BATCH", 4)
        monkeypatch.setattr(module, "LAYERS", 2)
    result = epoch.run(1, batches=1) if what == "epoch" else peers.run(1)
    models = {row["model"] for row in result["rows"]}
    assert models >= ({"engnn", "mpnn", "nmpnn", "bare"} if what == "epoch" else {"engnn"})
    told = {*models, *result.get("not_for_graphs", ())}
    assert ("glass" in told) == (what == "peers")
    assert len(list((epoch if what == "epoch" else peers).table(result))) == 1 + len(told)


def test_the_command_prints_one_document_and_writes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(layers, "SETTINGS", (TINY,))
    threads = torch.get_num_threads()
    assert main(["bench", "layers", "--json", "--repetitions", "1", "--out", str(tmp_path / "a" / "layers.json")]) == 0
    torch.set_num_threads(threads)
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "a" / "layers.json").read_text())
    assert printed["bench"] == "layers"


@pytest.mark.parametrize("call", [["bench", "nothing"], ["bench", "--repetitions", "0"]])
def test_a_wrong_call_is_told(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(call) == 2
    assert capsys.readouterr().err

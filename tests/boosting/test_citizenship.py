"""Boosted models and layers among the tools of PyG; and the page about them runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg
from torch_geometric.nn import models

from engnn.boosting import EquivariantNoise, HeteroEquivariantNoise, boost
from engnn.errors import InputError

PAGE = Path(__file__).parent.parent.parent / "docs" / "boost.md"


def test_the_python_blocks_of_the_page_run_one_after_the_other() -> None:
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    assert len(found) == 3
    namespace: dict[str, object] = {}
    for block in found:
        exec(compile(block, str(PAGE), "exec"), namespace)


def test_the_page_names_every_example() -> None:
    examples = {path.name for path in (PAGE.parent.parent / "examples").glob("boost_*.py")}
    assert {*re.findall(r"boost_\w+\.py", PAGE.read_text())} == examples - {"boost_model.py", "boost_layer.py"}


def test_a_sequential_hands_both_streams_on() -> None:
    noisy = {"noise_channels": 5, "noise_dim": 4}
    model = pyg.Sequential(
        "x, z, edge_index, edge_weight",
        [
            (EquivariantNoise(pyg.GCNConv(3, 8), **noisy, noise_in=1), "x, z, edge_index, edge_weight -> x, z"),
            (nn.ReLU(), "x -> x"),
            (EquivariantNoise(pyg.GraphConv(8, 2), **noisy), "x, z, edge_index, edge_weight -> x, z"),
            (lambda x, z: x, "x, z -> x"),
        ],
    )
    x, z, edge_index = torch.randn(4, 3), torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]])
    out = model(x, z, edge_index, torch.rand(3))
    assert out.shape == (4, 2)
    assert not torch.equal(model(x, z, edge_index, torch.ones(3)), out)


def test_a_summary_counts_what_was_added() -> None:
    model = models.GCN(3, 8, num_layers=2, out_channels=5)
    boosted = boost(model)
    table = pyg.summary(boosted, torch.randn(4, 3), torch.tensor([[0, 1], [1, 0]]), leaf_module=None, max_depth=9)
    assert "NoiseBranch" in table
    assert "GCNConv" in table
    counted = re.search(r"\| Boosted .*\| ([\d,]+) +\|", table)
    assert counted is not None
    assert int(counted[1].replace(",", "")) == sum(p.numel() for p in boosted.parameters())


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.SAGEConv((-1, -1), 8)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(x, edge_index)


def test_what_to_hetero_makes_can_be_wrapped() -> None:
    torch.manual_seed(0)  # of some weights no ReLU is open, and nothing then depends on the noise
    relations = [("a", "to", "b"), ("b", "back", "a")]
    conv = pyg.to_hetero(Layer(), (["a", "b"], relations))
    layer = HeteroEquivariantNoise(conv, {"a": 8, "b": 8}, relations, noise_channels=5, noise_dim=4)
    sizes = {"a": 3, "b": 4}
    x = {name: torch.randn(n, 3) for name, n in sizes.items()}
    z = {name: torch.randn(n, 5, 4) for name, n in sizes.items()}
    edges = {relation: torch.tensor([[0, 1], [1, 2]]) for relation in relations}
    out, noise = layer(x, z, edges)
    assert {name: value.shape for name, value in out.items()} == {name: (n, 8) for name, n in sizes.items()}
    other, _ = layer(x, {**z, "a": z["a"] + 1}, edges)
    assert not torch.allclose(other["b"], out["b"])
    assert {name: value.shape for name, value in noise.items()} == {name: value.shape for name, value in z.items()}


def test_what_to_hetero_made_is_not_boosted_as_if_it_were_of_one_type() -> None:
    relations = [("a", "to", "a")]
    boosted = boost(pyg.to_hetero(Layer(), (["a"], relations)))
    with pytest.raises(InputError, match="HeteroEquivariantNoise"):
        boosted({"a": torch.randn(3, 3)}, {relations[0]: torch.tensor([[0, 1], [1, 2]])})

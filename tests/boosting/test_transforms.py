"""Noise as a transform is a function of the graph's name: no worker, order or batch changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import Dataset
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

from engnn import noise as noises
from engnn.boosting import AddNoise, AddNoiseFeatures
from engnn.errors import InputError


def graph(n: int, **attributes: Any) -> Data:
    ring = torch.arange(n)
    return Data(torch.full((n, 1), float(n)), torch.stack([ring, ring.roll(1)]), **attributes)


class Graphs(Dataset):
    """Twelve rings, transformed as they are read."""

    def __init__(self, transform: Callable[[Data], Data]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Data:
        return self.transform(graph(3 + index, graph_id=100 + index))


def by_graph(transform: AddNoise, order: Sequence[int], key: str, **options: Any) -> dict[int, Tensor]:
    loader = DataLoader(Graphs(transform), sampler=order, **options)
    graphs = [data for batch in loader for data in batch.to_data_list()]
    return {int(data.graph_id): data[key] for data in graphs}


@pytest.mark.parametrize(("transform", "key"), [(AddNoise(), "noise"), (AddNoiseFeatures("normal", 5), "x")])
def test_workers_order_and_batches_do_not_change_it(transform: AddNoise, key: str) -> None:
    alone = by_graph(transform, range(12), key, batch_size=1)
    workers = by_graph(transform, [7, 3, 11, 0, 1, 2, 10, 9, 8, 4, 5, 6], key, batch_size=5, num_workers=2)
    assert alone.keys() == workers.keys()
    assert all(torch.equal(alone[name], workers[name]) for name in alone)
    assert not torch.equal(alone[100][:3], alone[101][:3])


def test_a_batch_has_the_noise_of_its_graphs() -> None:
    for named in (True, False):
        graphs = [graph(n, graph_id=n) if named else graph(n) for n in (3, 5, 4)]
        whole = AddNoise()(Batch.from_data_list(graphs))
        parts = [AddNoise()(data).noise for data in graphs]
        assert torch.equal(whole.noise, torch.cat(parts))


def test_it_is_the_noise_of_the_model() -> None:
    data = AddNoise("uniform", 7, seed=3, draw=5)(graph(4, graph_id=9))
    expected = noises.sample("uniform", 4, 7, seed=3, draw=5, graph_id=torch.tensor([9]))
    assert torch.equal(data.noise, expected)


def test_seed_draw_name_and_content_change_it() -> None:
    one = AddNoise("normal")(graph(4)).noise
    others = [
        AddNoise("normal", seed=1)(graph(4)),
        AddNoise("normal", draw=1)(graph(4)),
        AddNoise("normal")(graph(4, graph_id=1)),
        AddNoise("normal")(Data(graph(4).x, graph(4).edge_index.flip(0))),
        AddNoise("normal")(Data(graph(4).x + 1, graph(4).edge_index)),
        AddNoise("normal")(Data(edge_index=graph(4).edge_index, num_nodes=4)),
    ]
    assert torch.equal(AddNoise("normal")(graph(4)).noise, one)
    for other in others:
        assert not torch.equal(other.noise, one)


def test_types_of_nodes_have_noise_of_their_own() -> None:
    data = HeteroData(graph_id=3)
    data["author"].x, data["paper"].num_nodes = torch.ones(4, 2), 4
    data["author", "writes", "paper"].edge_index = torch.tensor([[0], [1]])
    given, data = data, AddNoise("normal", 6)(data)
    assert "noise" not in given["author"]
    assert data["author"].noise.shape == data["paper"].noise.shape == (4, 6)
    assert not torch.equal(data["author"].noise, data["paper"].noise)
    batch = AddNoise("normal", 6)(Batch.from_data_list([given, given]))
    assert torch.equal(batch["paper"].noise, data["paper"].noise.repeat(2, 1))
    features = AddNoiseFeatures("normal", 6)(given)
    assert torch.equal(features["author"].x, torch.cat([torch.ones(4, 2), data["author"].noise], 1))
    assert "noise" not in features["author"]
    del given.graph_id
    assert AddNoise("normal", 6)(given)["author"].noise.shape == (4, 6)


def test_features_are_beside_what_there_was_and_of_mean_square_1() -> None:
    data = AddNoiseFeatures("onehot+normal", 64)(graph(64))
    assert torch.equal(data.x[:, :1], graph(64).x)
    assert "noise" not in data
    marks, normal = data.x[:, 1:].reshape(64, 64, 2).unbind(-1)
    assert marks.square().mean() == pytest.approx(1)
    assert normal.square().mean() == pytest.approx(1, abs=0.1)
    assert AddNoiseFeatures("normal", 4)(Data(edge_index=graph(3).edge_index, num_nodes=3)).x.shape == (3, 4)


@pytest.mark.filterwarnings("ignore:Unable to accurately infer")
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: AddNoise("norml"), "did you mean 'normal'"),
        (lambda: AddNoise("normal", 0), "noise_channels=0"),
        (lambda: AddNoise()(Data()), "give them x or num_nodes"),
    ],
)
def test_bad_use_is_told_with_what_to_change(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        call()


def test_it_says_what_it_is() -> None:
    assert repr(AddNoise("normal", 4, seed=2)) == "AddNoise('normal', 4, seed=2, draw=0)"

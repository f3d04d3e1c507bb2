from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_geometric.io import read_planetoid_data

from engnn.data.dataset import PARTS, Dataset

Open = Callable[..., Dataset]
FOLDERS = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.filterwarnings("ignore")  # those of the other reader, on today's scipy and NumPy
def test_graph_features_labels_and_public_split_are_those_that_pyg_reads(
    name: str, data_root: Path, open_or_skip: Open
) -> None:
    dataset = open_or_skip(name, split="public")
    theirs = read_planetoid_data(str(data_root / "Planetoid" / FOLDERS[name] / "raw"), name)
    ours = dataset.graphs.batch()
    torch.testing.assert_close(ours.x, theirs.x.to_dense() if theirs.x.is_sparse else theirs.x)
    assert {(int(a), int(b)) for a, b in ours.edge_index.T} == {(int(a), int(b)) for a, b in theirs.edge_index.T}
    assert dataset.y is not None
    assert dataset.y.tolist() == theirs.y.tolist()
    masks = (theirs.train_mask, theirs.val_mask, theirs.test_mask)
    for part, mask in zip(PARTS, masks, strict=True):
        assert dataset.split[part].tolist() == mask.nonzero().flatten().tolist()


@pytest.mark.parametrize(("name", "classes"), [("cora", 7), ("citeseer", 6), ("pubmed", 3)])
def test_the_public_split_is_20_a_class_then_500_then_1000(name: str, classes: int, open_or_skip: Open) -> None:
    dataset = open_or_skip(name, split="public", seed=5)
    assert [len(dataset.split[part]) for part in PARTS] == [20 * classes, 500, 1000]
    assert dataset.y is not None
    assert dataset.y[dataset.split["train"]].bincount().tolist() == [20] * classes


@pytest.mark.parametrize(
    ("name", "sizes"), [("cora", (1192, 796, 497)), ("citeseer", (1596, 1065, 666)), ("pubmed", (9463, 6310, 3944))]
)
def test_the_fixed_masks_are_ten_different_splits(name: str, sizes: tuple[int, int, int], open_or_skip: Open) -> None:
    splits = [open_or_skip(name, split=f"geom-gcn-{i}").split for i in range(10)]
    for i, split in enumerate(splits):
        everyone = torch.cat(list(split.values()))
        assert len(everyone.unique()) == len(everyone)
        partial = name == "citeseer" and i in (4, 5)
        assert tuple(len(split[part]) for part in PARTS) == ((1017, 679, 424) if partial else sizes)
    assert len({tuple(split["train"].tolist()) for split in splits}) == 10


def test_citeseer_has_15_nodes_without_features_and_48_others_without_an_edge(open_or_skip: Open) -> None:
    dataset = open_or_skip("citeseer")
    graph = dataset.graphs.batch()
    assert graph.x is not None
    assert graph.edge_index is not None
    alone = torch.ones(3327, dtype=torch.bool)
    alone[graph.edge_index[0]] = False
    empty = (graph.x == 0).all(1)
    assert [int(empty.sum()), int(alone.sum()), int((empty & alone).sum())] == [15, 48, 0]
    assert dataset.y is not None
    assert dataset.y[empty].tolist() == [0] * 15
    for said in ("15 nodes have no features and no label", "48 other nodes have no edge", "leave 1,207 nodes out"):
        assert any(said in note for note in dataset.notes)


def test_words_are_zeros_and_ones_but_pubmeds_are_weighted(open_or_skip: Open) -> None:
    for name in ("cora", "citeseer"):
        x = open_or_skip(name).graphs.x
        assert x is not None
        assert x.unique().tolist() == [0, 1]
    x = open_or_skip("pubmed").graphs.x
    assert x is not None
    assert len(x.unique()) > 2

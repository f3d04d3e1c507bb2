from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Actor, WebKB, WikipediaNetwork
from torch_geometric.utils import remove_self_loops, to_undirected

from engnn.data.dataset import PARTS, Dataset
from engnn.data.sources.geom_gcn import word_list, zeros_and_ones

Open = Callable[..., Dataset]
THEIRS = {
    "chameleon": ("WikipediaNetwork/chameleon/geom_gcn", lambda root: WikipediaNetwork(root, "chameleon")),
    "actor": ("Actor", Actor),
    "texas": ("WebKB/texas", lambda root: WebKB(root, "texas")),
    "cornell": ("WebKB/cornell", lambda root: WebKB(root, "cornell")),
}
SIZES = {
    "chameleon": (1092, 729, 456),
    "squirrel": (2496, 1664, 1041),
    "actor": (3648, 2432, 1520),
    "texas": (87, 59, 37),
    "cornell": (87, 59, 37),
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.filterwarnings("ignore")  # those of the other reader
def test_graph_features_labels_and_masks_are_those_that_pyg_reads(
    name: str, data_root: Path, tmp_path: Path, open_or_skip: Open
) -> None:
    dataset = open_or_skip(name)
    folder, read = THEIRS[name]
    root = tmp_path / folder.partition("/")[0]
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "raw").symlink_to(data_root / folder / "raw")
    theirs = read(str(root))[0]
    ours = dataset.graphs.batch()
    torch.testing.assert_close(ours.x, theirs.x)
    expected = to_undirected(remove_self_loops(theirs.edge_index)[0], num_nodes=theirs.num_nodes)
    assert {(int(a), int(b)) for a, b in ours.edge_index.T} == {(int(a), int(b)) for a, b in expected.T}
    assert dataset.y is not None
    assert dataset.y.tolist() == theirs.y.tolist()
    for i in (0, 9):
        split = open_or_skip(name, split=f"geom-gcn-{i}").split
        for part, masks in zip(PARTS, (theirs.train_mask, theirs.val_mask, theirs.test_mask), strict=True):
            assert split[part].tolist() == masks[:, i].nonzero().flatten().tolist()


@pytest.mark.parametrize("name", SIZES)
def test_the_fixed_masks_are_ten_different_splits_of_48_32_20(name: str, open_or_skip: Open) -> None:
    splits = [open_or_skip(name, split=f"geom-gcn-{i}").split for i in range(10)]
    assert tuple(len(splits[0][part]) for part in PARTS) == SIZES[name]
    for split in splits:
        everyone = torch.cat(list(split.values()))
        assert len(everyone.unique()) == len(everyone) <= sum(SIZES[name])
    assert len({tuple(split["train"].tolist()) for split in splits}) == 10


def test_cornell_as_published_has_the_features_and_labels_of_texas_and_says_so(open_or_skip: Open) -> None:
    cornell, texas, repaired = (open_or_skip(name) for name in ("cornell", "texas", "cornell-repaired"))
    for dataset in (cornell, texas, repaired):
        assert dataset.graphs.x is not None
    torch.testing.assert_close(cornell.graphs.x, texas.graphs.x)
    assert cornell.y.tolist() == texas.y.tolist()
    assert not torch.equal(repaired.graphs.x, cornell.graphs.x)
    torch.testing.assert_close(homophily(cornell), 0.296, atol=5e-4, rtol=0)
    torch.testing.assert_close(homophily(repaired), 0.123, atol=5e-4, rtol=0)
    assert any("features and labels are those of texas" in note for note in cornell.notes)


def homophily(dataset: Dataset) -> float:
    assert dataset.y is not None
    source, target = dataset.y[dataset.graphs.edge_index.long()]
    return float((source == target).float().mean())


def test_a_word_that_is_listed_twice_is_one_word() -> None:
    assert word_list(np.array([5, 2, 5])).tolist() == [2, 5]
    assert zeros_and_ones(np.array([0, 1, 0, 1])).tolist() == [1, 3]

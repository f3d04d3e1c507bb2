from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from engnn.data.dataset import PARTS, Dataset

Open = Callable[..., Dataset]
FILES = {
    "minesweeper": "HeterophilousGraphDataset/minesweeper/raw/minesweeper.npz",
    "chameleon-filtered": "HeterophilousFiltered/chameleon_filtered.npz",
    "squirrel-filtered": "HeterophilousFiltered/squirrel_filtered.npz",
    "cornell-repaired": "HeterophilousFiltered/cornell.npz",
}


@pytest.mark.parametrize("name", FILES)
def test_arrays_and_masks_are_those_of_the_file(name: str, data_root: Path, open_or_skip: Open) -> None:
    dataset = open_or_skip(name)
    raw = np.load(data_root / FILES[name])
    torch.testing.assert_close(dataset.graphs.batch().x, torch.from_numpy(raw["node_features"]))
    assert dataset.y is not None
    assert dataset.y.tolist() == raw["node_labels"].tolist()
    ours = {(int(a), int(b)) for a, b in dataset.graphs.edge_index.T}
    theirs = {(int(a), int(b)) for a, b in raw["edges"]}
    assert ours == theirs | {(b, a) for a, b in theirs}
    for i in range(10):
        split = open_or_skip(name, split=f"heterophilous-{i}").split
        for part, key in zip(PARTS, ("train_masks", "val_masks", "test_masks"), strict=True):
            assert split[part].tolist() == np.flatnonzero(raw[key][i]).tolist()
        everyone = torch.cat(list(split.values()))
        assert len(everyone.unique()) == len(everyone)


def test_minesweeper_is_a_grid_whose_cells_touch_all_eight_around_them(open_or_skip: Open) -> None:
    degree = torch.bincount(open_or_skip("minesweeper").graphs.edge_index[0].long())
    assert degree.bincount().tolist() == [0, 0, 0, 4, 0, 4 * 98, 0, 0, 98 * 98]

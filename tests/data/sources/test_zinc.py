from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from engnn.data.dataset import PARTS, Dataset


def atoms(dataset: Dataset, graph: int) -> list[int]:
    assert dataset.graphs.x is not None
    first, last = dataset.graphs.node_ptr[graph : graph + 2].tolist()
    return sorted(dataset.graphs.x[first:last, 0].tolist())


@pytest.mark.parametrize(
    ("name", "sizes", "provenance"),
    [("zinc", [10_000, 1000, 1000], "substitute"), ("zinc-full", [220_010, 24_445, 5000], "rebuilt")],
)
def test_the_counts_are_those_of_the_paper_s_table(
    open_or_skip: Callable[..., Dataset], name: str, sizes: list[int], provenance: str
) -> None:
    dataset = open_or_skip(name)
    graphs = dataset.graphs
    assert dataset.provenance == provenance
    assert [len(dataset.split[part]) for part in PARTS] == sizes
    assert torch.cat([dataset.split[part] for part in PARTS]).sort().values.equal(torch.arange(sum(sizes)))
    assert float(graphs.num_nodes.float().mean()) == pytest.approx(23.2, abs=0.1)
    assert float(graphs.num_edges.float().mean()) / 2 == pytest.approx(24.9, abs=0.05)
    assert dataset.y is not None
    assert dataset.y.shape == (len(graphs), 1)


def test_the_substitute_training_set_is_said_to_be_one(open_or_skip: Callable[..., Dataset]) -> None:
    assert open_or_skip("zinc").notes[0].startswith("THE TRAINING SET IS A SUBSTITUTE")


def test_codes_stay_small_and_within_their_levels(open_or_skip: Callable[..., Dataset]) -> None:
    graphs = open_or_skip("zinc-full").graphs
    assert graphs.x is not None
    assert graphs.edge_attr is not None
    assert graphs.x.dtype == graphs.edge_attr.dtype == torch.uint8
    assert (int(graphs.x.max()), graphs.x_levels) == (27, (28,))
    assert (int(graphs.edge_attr.min()), int(graphs.edge_attr.max()), graphs.edge_levels) == (0, 2, (3,))


def test_a_batch_gives_one_hot_atoms_and_bonds(open_or_skip: Callable[..., Dataset]) -> None:
    batch = open_or_skip("zinc").graphs.batch(torch.tensor([11_999, 0]))
    assert batch.x.shape == (batch.num_nodes, 28)
    assert batch.edge_attr.shape == (batch.edge_index.size(1), 3)
    assert (batch.x.sum(1) == 1).all()
    assert (batch.edge_attr.sum(1) == 1).all()


def test_the_official_graphs_are_those_of_the_rebuilt_set(
    open_or_skip: Callable[..., Dataset], data_root: Path
) -> None:
    """Two independent ways to the same 2,000 molecules: as PyG has them, and by RDKit from their SMILES."""
    subset, full = open_or_skip("zinc"), open_or_skip("zinc-full")
    with np.load(data_root / "graph/zinc/zinc_full_rebuilt.npz") as raw:
        rows = np.concatenate([raw["zinc12k_val"], raw["zinc12k_test"]]).tolist()
    held_out = torch.cat([subset.split["valid"], subset.split["test"]]).tolist()
    assert all(atoms(subset, one) == atoms(full, other) for one, other in zip(held_out, rows, strict=True))
    assert subset.y is not None
    assert full.y is not None
    near = (subset.y[held_out] - full.y[rows]).abs() < 1e-4
    assert int(near.sum()) == 1997  # the other three have an ambiguous cycle basis


def test_no_training_molecule_of_the_substitute_is_held_out(data_root: Path) -> None:
    folder = data_root / "graph/zinc"
    rows = []
    for file in ("zinc12k_train_SUBSTITUTE.npz", "zinc12k_val_official.npz", "zinc12k_test_official.npz"):
        if not (folder / file).is_file():
            pytest.skip("data: zinc is not here")
        with np.load(folder / file) as raw:
            rows += raw["zinc250k_row"].tolist()
    assert len(set(rows)) == 12_000

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from engnn.data.dataset import Dataset

Open = Callable[..., Dataset]
FILES = {
    "computers": "Amazon/Computers/raw/amazon_electronics_computers.npz",
    "photo": "Amazon/Photo/raw/amazon_electronics_photo.npz",
    "coauthor-cs": "Coauthor/CS/raw/ms_academic_cs.npz",
    "coauthor-physics": "Coauthor/Physics/raw/ms_academic_phy.npz",
    "dblp": "CitationFull/dblp/raw/dblp.npz",
}


@pytest.mark.parametrize("name", FILES)
def test_features_labels_and_edges_are_those_that_scipy_makes_of_the_arrays(
    name: str, data_root: Path, open_or_skip: Open
) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    dataset = open_or_skip(name)
    raw = np.load(data_root / FILES[name])
    words, adjacency = (
        scipy_sparse.csr_matrix(
            tuple(raw[f"{part}_{key}"] for key in ("data", "indices", "indptr")), raw[f"{part}_shape"]
        )
        for part in ("attr", "adj")
    )
    x = dataset.graphs.x
    assert x is not None
    x = x if x.is_sparse else x.to_sparse()
    ours = scipy_sparse.csr_matrix((x.values().numpy(), x.indices().numpy()), x.shape)
    assert (ours != words).nnz == 0
    both = ((adjacency + adjacency.T) != 0).astype(np.int8)
    both.setdiag(0)
    both.eliminate_zeros()
    edges = scipy_sparse.csr_matrix(
        (np.ones(dataset.graphs.edge_index.size(1), dtype=np.int8), dataset.graphs.edge_index.numpy()), both.shape
    )
    assert (edges != both).nnz == 0
    assert dataset.y is not None
    assert dataset.y.tolist() == raw["labels"].tolist()


def test_classes_are_named_where_the_file_names_them(open_or_skip: Open) -> None:
    assert len(set(open_or_skip("photo").classes)) == 8
    assert open_or_skip("photo").classes != tuple(map(str, range(8)))
    assert open_or_skip("dblp").classes == ("0", "1", "2", "3")


def test_only_features_that_would_not_fit_in_a_quarter_gigabyte_stay_sparse(open_or_skip: Open) -> None:
    for name in FILES:
        x = open_or_skip(name).graphs.x
        assert x is not None
        assert x.dtype == torch.float32
        assert x.is_sparse == name.startswith("coauthor")

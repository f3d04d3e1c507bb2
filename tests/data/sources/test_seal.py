from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engnn.data.dataset import Dataset
from engnn.data.sources.seal import SOURCES, read_mat
from engnn.errors import InputError

Open = Callable[..., Dataset]


def test_a_matrix_gives_its_nonzero_entries_and_all_its_nodes(tmp_path: Path) -> None:
    scipy_io, scipy_sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    net = scipy_sparse.csc_matrix((np.array([1.0, 2.0, 0.0]), (np.array([0, 3, 1]), np.array([2, 3, 0]))), (5, 5))
    assert net.nnz == 3
    scipy_io.savemat(tmp_path / "net.mat", {"net": net, "group": np.eye(2)})
    nodes, edges = read_mat(tmp_path / "net.mat")
    assert nodes == 5
    assert sorted(map(tuple, edges.T.tolist())) == [(0, 2), (3, 3)]


def test_without_scipy_the_mend_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(InputError, match=r"USAir\.mat is a MATLAB file, which needs scipy: pip install engnn\[files\]"):
        read_mat(tmp_path / "USAir.mat")


@pytest.mark.parametrize("name", [source.name for source in SOURCES])
def test_graph_and_links_together_are_the_matrix_of_the_file(name: str, data_root: Path, open_or_skip: Open) -> None:
    scipy_io, scipy_sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    links = open_or_skip(name).links
    (file,) = next(source.files for source in SOURCES if source.name == name)
    net = scipy_io.loadmat(data_root / file.path)["net"].tocsr()
    assert links is not None
    rows, columns = np.concatenate([links.train, links.valid, links.test], axis=1)
    ours = scipy_sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), net.shape)
    net = scipy_sparse.triu(net != 0, k=1).tocsr()
    assert (ours != net).nnz == 0

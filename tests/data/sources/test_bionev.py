from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from engnn.data.dataset import Dataset


def test_links_are_those_of_the_file_and_every_node_has_one(
    data_root: Path, open_or_skip: Callable[..., Dataset]
) -> None:
    links = open_or_skip("string").links
    assert links is not None
    lines = (data_root / "BioNEV" / "STRING_PPI.edgelist").read_text().splitlines()
    theirs = {tuple(sorted(map(int, line.split()))) for line in lines}
    ours = np.concatenate([links.train, links.valid, links.test], axis=1)
    assert {(int(a), int(b)) for a, b in ours.T} == theirs
    assert np.unique(ours).tolist() == list(range(15131))

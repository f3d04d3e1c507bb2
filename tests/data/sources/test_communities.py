from __future__ import annotations

import numpy as np
import pytest
import torch

from engnn.data.catalog import open_dataset
from engnn.data.sources.communities import COMMON, INSIDE, KINDS, PREFERRED, WORDS, communities


def test_communities_link_and_speak_as_they_are_said_to() -> None:
    kind, words, (first, second) = communities(0)
    assert (kind[first] == kind[second]).mean() == pytest.approx(INSIDE + (1 - INSIDE) / KINDS, abs=0.03)
    preferred = np.arange(WORDS) % KINDS == kind[:, None]
    assert words[preferred].mean() == pytest.approx(PREFERRED, abs=0.02)
    assert words[~preferred].mean() == pytest.approx(COMMON, abs=0.02)


def test_the_seed_is_of_the_split_and_not_of_the_graph() -> None:
    one, other = open_dataset("communities", seed=1), open_dataset("communities", seed=2)
    assert torch.equal(one.graphs.edge_index, other.graphs.edge_index)
    assert not torch.equal(one.split["test"], other.split["test"])

from __future__ import annotations

import pytest
import torch

from engnn.data.catalog import open_dataset
from engnn.data.sources.small_world import MOVED, NEAR, NODES, small_world
from engnn.data.splits import link_leaks


def test_a_small_world_is_a_ring_with_a_tenth_of_its_links_moved() -> None:
    first, second = small_world(0)
    near = (second - first) % NODES <= NEAR
    assert near.mean() == pytest.approx(1 - MOVED, abs=0.02)
    dataset = open_dataset("small-world", seed=3)
    assert dataset.links is not None
    assert not link_leaks(dataset)
    assert torch.equal(open_dataset("small-world", seed=3).links.test, dataset.links.test)
    assert not torch.equal(open_dataset("small-world", seed=4).links.test, dataset.links.test)

"""Links of a small world (Watts and Strogatz 1998): a ring whose nodes know those near them, and few far away.

All nodes look alike to a network without noise or features, so that it cannot tell a link from a non-link here.
"""

from __future__ import annotations

import numpy as np
import torch

from engnn.data.dataset import Dataset
from engnn.data.draws import Array, Draws
from engnn.data.source import Request, Source
from engnn.data.splits import link_split
from engnn.data.undirected import undirected

NODES, NEAR, MOVED = 400, 5, 0.1  # neighbours on either side, and the share of links with one end moved anywhere
PURPOSE = 3 << 32


def small_world(seed: int) -> Array:
    """The links `[2, m]`, some of them twice or from a node to itself where an end was moved.

    >>> small_world(0).shape
    (2, 2000)
    """
    draws = Draws(seed, PURPOSE)
    first = np.repeat(np.arange(NODES), NEAR)
    second = (first + np.tile(np.arange(1, NEAR + 1), NODES)) % NODES
    anywhere = draws.below(NODES, len(first))
    return np.stack([first, np.where(draws.unit(len(first)) < MOVED, anywhere, second)])


def _load(request: Request) -> Dataset:
    links = link_split(NODES, torch.from_numpy(small_world(0)), seed=request.seed)
    return Dataset(
        name="small-world",
        task="link",
        metric="roc_auc",
        provenance="generated",
        graphs=undirected(np.array([NODES]), np.array([links.train.size(1)]), links.train.numpy()),
        links=links,
        notes=(
            f"a ring of {NODES} nodes, each joined to {NEAR} on either side, {MOVED:.0%} of the links moved",
            f"70/10/20 of the links at random with seed {request.seed}; the graph holds the training links only",
            "as many non-links as links in valid and in test, drawn with the same seed",
        ),
        source="drawn by engnn",
        licence="Apache-2.0",
    )


SOURCES = (
    Source(
        name="small-world",
        tasks=("link",),
        splits=("random",),
        metric={"link": "roc_auc"},
        provenance="generated",
        load=_load,
        licence="Apache-2.0",
        source="drawn by engnn",
        summary="a ring of 400 nodes with shortcuts: which pairs are joined? needs no file",
    ),
)

"""Nodes of three communities, which know mostly one another and prefer some words a little: neither alone says much."""

from __future__ import annotations

import numpy as np
import torch

from engnn.data.dataset import Dataset
from engnn.data.draws import Array, Draws
from engnn.data.source import Request, Source
from engnn.data.splits import random_split
from engnn.data.undirected import undirected

NODES, KINDS, LINKS, INSIDE = 600, 3, 2, 0.8  # links that each node seeks, and the share of them sought at home
WORDS, COMMON, PREFERRED = 30, 0.1, 0.2  # how likely a word is, and one of those that a community prefers
PURPOSE = 4 << 32


def communities(seed: int) -> tuple[Array, Array, Array]:
    """The community of each node, its words, and the links `[2, m]`, some of them twice.

    >>> kind, words, links = communities(0)
    >>> kind.shape, words.shape, links.shape
    ((600,), (600, 30), (2, 1200))
    """
    draws = Draws(seed, PURPOSE)
    kind = np.arange(NODES) % KINDS
    preferred = np.arange(WORDS) % KINDS == kind[:, None]
    words = draws.unit(NODES * WORDS).reshape(NODES, WORDS) < np.where(preferred, PREFERRED, COMMON)
    first = np.repeat(np.arange(NODES), LINKS)
    at_home = draws.below(NODES // KINDS, len(first)) * KINDS + kind[first]
    anywhere = draws.below(NODES, len(first))
    second = np.where(draws.unit(len(first)) < INSIDE, at_home, anywhere)
    return kind, words.astype(np.float32), np.stack([first, second])


def _load(request: Request) -> Dataset:
    kind, words, links = communities(0)
    y = torch.from_numpy(kind)
    split, notes = random_split(NODES, seed=request.seed, labels=y)
    return Dataset(
        name="communities",
        task="node",
        metric="accuracy",
        provenance="generated",
        graphs=undirected(np.array([NODES]), np.array([links.shape[1]]), links, x=words),
        y=y,
        classes=tuple("abc"),
        split=split,
        notes=notes,
        source="drawn by engnn",
        licence="Apache-2.0",
    )


SOURCES = (
    Source(
        name="communities",
        tasks=("node",),
        splits=("random",),
        metric={"node": "accuracy"},
        provenance="generated",
        load=_load,
        licence="Apache-2.0",
        source="drawn by engnn",
        summary="600 nodes of three communities, some words and links: which is whose? needs no file",
    ),
)

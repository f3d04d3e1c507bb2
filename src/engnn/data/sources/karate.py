"""Zachary's karate club (1977): 34 members and who met whom outside the club, before it fell into two."""

from __future__ import annotations

import numpy as np
import torch

from engnn.data.dataset import Dataset
from engnn.data.source import Request, Source
from engnn.data.splits import random_split
from engnn.data.undirected import undirected

MET = (  # of each member, the members with larger numbers
    "1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31|2 3 7 13 17 19 21 30|3 7 8 9 13 27 28 32|7 12 13|6 10|6 10 16|16||30 32 33"
    "|33||||33|32 33|32 33|||32 33|33|32 33||32 33|25 27 29 32 33|25 27 31|31|29 33|33|31 33|32 33|32 33|32 33|33|"
)
OFFICER = (9, 14, 15, 18, 20, *range(22, 34))  # who went with the officer; the others stayed with Mr. Hi


def _load(request: Request) -> Dataset:
    edges = [(one, int(other)) for one, known in enumerate(MET.split("|")) for other in known.split()]
    y = torch.zeros(len(MET.split("|")), dtype=torch.long)
    y[list(OFFICER)] = 1
    graphs = undirected(
        np.array([len(y)]), np.array([len(edges)]), np.array(edges).T, x=np.eye(len(y), dtype=np.float32)
    )
    split, notes = random_split(len(y), seed=request.seed, labels=y)
    return Dataset(
        name="karate",
        task="node",
        metric="accuracy",
        provenance="original",
        graphs=graphs,
        y=y,
        classes=("Mr. Hi", "officer"),
        split=split,
        notes=(*notes, "the features are the members themselves, one column each"),
        source=SOURCE,
    )


SOURCE = "W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups (1977)"
SOURCES = (
    Source(
        name="karate",
        tasks=("node",),
        splits=("random",),
        metric={"node": "accuracy"},
        provenance="original",
        load=_load,
        source=SOURCE,
        summary="34 members of a karate club, and which of two sides each took; needs no file",
    ),
)

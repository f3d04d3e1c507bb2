r"""Common neighbours (Liben-Nowell and Kleinberg, "The Link Prediction Problem for Social Networks", CIKM 2003).

.. math:: s(i, j) = |N(i) \cap N(j)|
"""

from __future__ import annotations

import torch

from engnn.baselines._neighbours import Heuristic


class CommonNeighbours(Heuristic):
    """How many neighbours two nodes share.

    >>> path = torch.tensor([[0, 1], [1, 2]])
    >>> ends, side = CommonNeighbours(level="link")(None, path, targets=torch.tensor([[0, 0], [2, 1]]))
    >>> bool(ends > side)
    True
    """

    def __init__(self, *, level: str) -> None:
        super().__init__("common_neighbours", torch.ones_like, level)


MODEL = CommonNeighbours

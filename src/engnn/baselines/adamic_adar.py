r"""Adamic-Adar (Adamic and Adar, "Friends and neighbors on the Web", Social Networks 2003).

.. math:: s(i, j) = \sum_{k \in N(i) \cap N(j)} \frac{1}{\log |N(k)|}
"""

from __future__ import annotations

import torch
from torch import Tensor

from engnn.baselines._neighbours import Heuristic


def rarity(degrees: Tensor) -> Tensor:
    """What a common neighbour of some degree counts; a degree below 2 is no common neighbour's.

    >>> rarity(torch.tensor([1.0, 2.0]))
    tensor([0.0000, 1.4427])
    """
    return torch.where(degrees > 1, 1 / degrees.clamp(min=2).log(), 0.0)


class AdamicAdar(Heuristic):
    """How many neighbours two nodes share, those with few neighbours counting more.

    >>> path = torch.tensor([[0, 1], [1, 2]])
    >>> ends, side = AdamicAdar(level="link")(None, path, targets=torch.tensor([[0, 0], [2, 1]]))
    >>> bool(ends > side)
    True
    """

    def __init__(self, *, level: str) -> None:
        super().__init__("adamic_adar", rarity, level)


MODEL = AdamicAdar

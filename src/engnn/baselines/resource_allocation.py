r"""Resource allocation (Zhou, Lü and Zhang, "Predicting missing links via local information", EPJ B 2009).

.. math:: s(i, j) = \sum_{k \in N(i) \cap N(j)} \frac{1}{|N(k)|}
"""

from __future__ import annotations

from torch import Tensor

from engnn.baselines._neighbours import Heuristic


def share(degrees: Tensor) -> Tensor:
    """What a common neighbour of some degree hands on to each of its neighbours.

    >>> import torch
    >>> share(torch.tensor([0.0, 1.0, 2.0]))
    tensor([1.0000, 1.0000, 0.5000])
    """
    return 1 / degrees.clamp(min=1)


class ResourceAllocation(Heuristic):
    """How much of a resource at one node reaches the other, when each node between shares it out evenly.

    >>> import torch
    >>> path = torch.tensor([[0, 1], [1, 2]])
    >>> ends, side = ResourceAllocation(level="link")(None, path, targets=torch.tensor([[0, 0], [2, 1]]))
    >>> bool(ends > side)
    True
    """

    def __init__(self, *, level: str) -> None:
        super().__init__("resource_allocation", share, level)


MODEL = ResourceAllocation

r"""Baselines, boosted: `engnn train DATA --model boosted_gin` is `gin` with equivariant noise beside its convolutions.

Of nodes and of graphs, a boosted baseline says what the bare one says after `boost`. Links and subgraphs are sets U of
nodes, of which a bare one knows no more than its nodes each by itself; the noise that the last convolution hands on is
therefore read out over U as in the paper, and added:

.. math:: y_U = \text{bare}(\{x_i \mid i \in U\}) + \text{SubsetReadout}(\{(x_i, Z_i) \mid i \in U\})

The readout ends with zeros, so that every boosted model begins as the bare one.
"""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor, nn

from engnn.baselines._model import Baseline, Given, Targets
from engnn.boosting.model import boost
from engnn.nn.model import SYMMETRIES
from engnn.nn.readout import SubsetReadout
from engnn.sets import Level, Sets, as_targets


class BoostedBaseline(nn.Module):
    """A baseline with equivariant noise beside its convolutions, called as the baseline is.

    Args:
        bare: the baseline.
        noise_channels, noise_dim, noise, symmetry, noise_messages, degree, typical: see `boost`.
        given: what the baseline is made with.

    >>> import torch
    >>> from engnn.baselines.gin import GIN
    >>> given = {"in_channels": 3, "hidden_channels": 16, "out_channels": 1, "num_layers": 2, "level": "link"}
    >>> model = BoostedBaseline(GIN, noise_channels=8, noise_dim=4, **given)
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=torch.tensor([[0, 2], [1, 3]])).shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        bare: type[Baseline],
        noise_channels: int,
        noise_dim: int,
        noise: str = "onehot+normal",
        *,
        symmetry: Literal["permutation", "orthogonal"] = "permutation",
        noise_messages: bool = True,
        degree: float = 4.0,
        typical: float = 32.0,
        **given: Any,
    ) -> None:
        super().__init__()
        self.encoder = boost(
            _Encoder(bare(**given)),
            noise_channels=noise_channels,
            noise_dim=noise_dim,
            noise=noise,
            symmetry=symmetry,
            noise_messages=noise_messages,
            degree=degree,
            typical=typical,
        )
        self.level: Level = given["level"]
        self.readout = None
        if self.level in ("link", "subgraph"):
            width, out = given["hidden_channels"], given["out_channels"]
            group = SYMMETRIES[symmetry]
            self.readout = SubsetReadout(width, width, out, noise_dim, typical=typical, symmetry=group)
            nn.init.zeros_(self.readout.mlp.lin2.weight)
            nn.init.zeros_(self.readout.mlp.lin2.bias)

    def forward(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        *,
        targets: Targets = None,
        noise: Tensor | int | None = None,
        **more: Any,
    ) -> Tensor:
        """The answers `[T, out_channels]`; see `engnn.nn.model.ENGNN.forward`."""
        bare: Baseline = self.encoder.bare
        given = bare.given(x, edge_index, targets=targets, **more)
        h, z = self.encoder(given, noise=noise, batch=given.batch, batch_size=given.size, return_noise=True)
        out = bare.answers(h, given)
        if self.readout is None:
            return out
        sets = as_targets(self.level, targets, given.batch)
        more_of_sets: Tensor = self.readout(h, z, Sets.of(given.batch, given.size), sets)
        return out + more_of_sets

    def sample_noise(self, num_nodes: int, **words: Any) -> Tensor:
        """Noise of this model's kind; see `engnn.nn.model.ENGNN.sample_noise`."""
        return self.encoder.sample_noise(num_nodes, **words)


class _Encoder(nn.Module):
    """A baseline's embeddings of nodes."""

    def __init__(self, bare: Baseline) -> None:
        super().__init__()
        self.bare = bare

    def forward(self, given: Given) -> Tensor:
        return self.bare.encode(given)

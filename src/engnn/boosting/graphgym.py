"""Boosted models in GraphGym: import this module, and write `model.type: boosted` in the configuration.

The network is GraphGym's own, with whatever layers the configuration names; `noise.channels`, `noise.dim` and
`noise.kind` are the arguments of `boost`.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import GNN
from torch_geometric.graphgym.register import register_config, register_network
from yacs.config import CfgNode

from engnn.boosting.model import boost


def add_noise(config: Any) -> None:
    """The configuration's part about noise."""
    config.noise = CfgNode({"channels": 16, "dim": 16, "kind": "onehot+normal"})


def boosted(dim_in: int, dim_out: int, **kwargs: Any) -> nn.Module:
    """GraphGym's network, boosted."""
    noise = cfg.noise
    return boost(GNN(dim_in, dim_out, **kwargs), noise_channels=noise.channels, noise_dim=noise.dim, noise=noise.kind)


register_config("noise", add_noise)
register_network("boosted", boosted)
add_noise(cfg)  # of which GraphGym has made the rest by now

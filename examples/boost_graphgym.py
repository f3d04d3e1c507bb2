"""A boosted network of GraphGym, made from its configuration (needs the extra `lightning`)."""

from __future__ import annotations

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import cfg, set_cfg
from torch_geometric.graphgym.register import network_dict

import engnn.boosting.graphgym


def main() -> list[int]:
    """The shape of what it says of a batch of two graphs."""
    set_cfg(cfg)
    cfg.merge_from_list(["model.type", "boosted", "gnn.layer_type", "gatconv", "gnn.layers_mp", 2])
    cfg.merge_from_list(["dataset.task", "graph", "gnn.head", "graph", "noise.channels", 8])
    model = network_dict[cfg.model.type](dim_in=3, dim_out=5)
    graphs = [Data(torch.randn(n, 3), torch.randint(n, (2, 2 * n)), y=torch.zeros(1)) for n in (4, 6)]
    answers, _ = model(Batch.from_data_list(graphs))
    return list(answers.shape)


if __name__ == "__main__":
    print(main(), engnn.boosting.graphgym.__name__)

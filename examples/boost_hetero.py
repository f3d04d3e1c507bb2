"""Authors and papers: noise for each type of nodes, and its messages along each relation."""

from __future__ import annotations

import torch
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv

from engnn import AddNoise, HeteroEquivariantNoise


def main() -> dict[str, list[int]]:
    """The shapes of what two layers return."""
    torch.manual_seed(0)
    data = HeteroData()
    data["author"].x, data["paper"].x = torch.randn(30, 4), torch.randn(50, 6)
    edges = torch.stack([torch.randint(30, (120,)), torch.randint(50, (120,))])
    data["author", "writes", "paper"].edge_index, data["paper", "by", "author"].edge_index = edges, edges.flip(0)
    data = AddNoise("onehot+normal", 16)(data)

    def layer() -> HeteroEquivariantNoise:
        conv = HeteroConv({relation: SAGEConv((-1, -1), 32) for relation in data.edge_types})
        widths = {"author": 32, "paper": 32}
        return HeteroEquivariantNoise(conv, widths, data.edge_types, noise_channels=16, noise_dim=8)

    x, lin = data.x_dict, torch.nn.Linear(2, 8)
    z = {name: lin(noise) for name, noise in data.noise_dict.items()}
    for conv in (layer(), layer()):
        x, z = conv(x, z, data.edge_index_dict)
        x = {name: value.relu() for name, value in x.items()}
    return {name: list(value.shape) for name, value in x.items()}


if __name__ == "__main__":
    print(main())

"""A model of one's own, two attention layers with equivariant noise beside them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATv2Conv, global_add_pool

import engnn
from engnn import EquivariantNoise


class Net(nn.Module):
    """Edge features, attention and all."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        noisy = {"noise_channels": channels, "noise_dim": 8}
        self.conv1 = EquivariantNoise(GATv2Conv(5, 8, heads=4, edge_dim=3), noise_in=1, **noisy)
        self.conv2 = EquivariantNoise(GATv2Conv(32, 32, edge_dim=3), **noisy)
        self.lin = nn.Linear(32, 1)

    def forward(self, x: Tensor, z: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x, z = self.conv1(x, z, edge_index, edge_attr=edge_attr, batch=batch)
        x, z = self.conv2(x.relu(), z, edge_index, edge_attr=edge_attr, batch=batch)
        return self.lin(global_add_pool(x.relu(), batch))


def main() -> float:
    """The largest change of the answers when the noise channels are dealt anew: none but rounding."""
    torch.manual_seed(0)
    batch, edge_index = torch.arange(20) // 10, torch.arange(20).repeat(2, 2)
    edge_index[1] = (edge_index[0] + torch.arange(40) // 20 + 1) % 10 + edge_index[0] // 10 * 10
    z, net = engnn.sample("normal", 20, 16, seed=0, batch=batch), Net()
    x, edge_attr = torch.randn(20, 5), torch.randn(40, 3)
    one, other = (net(x, noise, edge_index, edge_attr, batch) for noise in (z, z[:, torch.randperm(16)]))
    return float((one - other).detach().abs().max())


if __name__ == "__main__":
    print(f"change: {main():.2g}")

"""Mini-batches of neighbourhoods of a large graph, without pyg-lib; nodes keep their noise from batch to batch."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.nn.models import GraphSAGE

from engnn import AddNoise, boost
from engnn.boosting import NeighbourSampler


def main(nodes: int = 2000, steps: int = 20) -> float:
    """The loss at the end, of whether a node has an in-edge from a node with a positive first feature."""
    torch.manual_seed(0)
    data = Data(torch.randn(nodes, 4), torch.randint(nodes, (2, 2 * nodes)))
    source, target = data.edge_index
    data.y = torch.zeros(nodes).index_add_(0, target, (data.x[source, 0] > 0).float()).clamp(max=1)
    data = AddNoise("onehot+normal", 16)(data)  # once, for the whole graph

    model = boost(GraphSAGE(4, 32, num_layers=2, out_channels=1, aggr="max"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = NodeLoader(data, NeighbourSampler(data, [8, 4]), batch_size=100, shuffle=True)
    for batch, _ in zip(loader, range(steps), strict=False):
        out = model(batch.x, batch.edge_index, noise=batch.noise)[: batch.batch_size, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(out, batch.y[: batch.batch_size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.detach())


if __name__ == "__main__":
    print(f"loss: {main():.3f}")

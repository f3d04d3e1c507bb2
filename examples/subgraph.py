"""Subgraphs: are the nodes of a set joined more densely than those of most sets? Three classes of density."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from engnn import ENGNN, open_dataset


def main(steps: int = 200) -> float:
    """The share of sets put into the right class of density; none of them was trained on."""
    torch.manual_seed(0)
    dataset = open_dataset("density-generated")  # made here, no file is needed
    graph = dataset.graphs.batch()
    model = ENGNN(
        0, 32, len(dataset.classes), 1, noise_channels=16, noise_dim=4, noise="normal", level="subgraph", output="class"
    )
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    train, test = dataset.split["train"], dataset.split["test"]
    for step in range(steps):
        some = train[torch.randperm(len(train))[:32]]
        nodes, index = dataset.members.select(some)  # nodes[i] belongs to set index[i]
        targets = (nodes, index, len(some))
        out = model(None, graph.edge_index, targets=targets, noise=step, num_nodes=graph.num_nodes)
        loss = F.cross_entropy(out, dataset.y[some])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    targets = (*dataset.members.select(test), len(test))
    answers = model.predict(Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes, targets=targets), draws=8)
    return float((answers.mean.argmax(-1) == dataset.y[test]).float().mean())


if __name__ == "__main__":
    print(f"accuracy on sets never seen: {main():.3f}")

"""Links: which pairs of a ring with shortcuts are joined? Hidden edges must be told from pairs without one."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from engnn import ENGNN, open_dataset


def main(steps: int = 150) -> float:
    """How often a hidden edge is ranked above a pair without an edge (the ROC AUC)."""
    torch.manual_seed(0)
    dataset = open_dataset("small-world")  # made here, no file is needed
    graph, links = dataset.graphs.batch(), dataset.links
    model = ENGNN(0, 32, 1, num_layers=2, noise_channels=16, noise_dim=8, level="link", output="binary")
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    n = graph.num_nodes
    for step in range(steps):
        # Half of the edges are asked for, and must not be there to be seen; as many random pairs are asked for too.
        asked = torch.rand(links.train.size(1)) < 0.5
        edges, shown = links.train[:, asked], links.train[:, ~asked]
        pairs = torch.cat([edges, torch.randint(n, edges.shape)], dim=1)
        out = model(None, torch.cat([shown, shown.flip(0)], dim=1), targets=pairs, noise=step, num_nodes=n)
        loss = F.binary_cross_entropy_with_logits(out[:, 0], (torch.arange(pairs.size(1)) < edges.size(1)).float())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    pairs = torch.cat([links.test, links.test_negatives], dim=1)
    answers = model.predict(Data(edge_index=graph.edge_index, num_nodes=n, edge_label_index=pairs), draws=8)
    edges, others = answers.mean[:, 0].split([links.test.size(1), links.test_negatives.size(1)])
    return float((edges[:, None] > others).float().mean() + 0.5 * (edges[:, None] == others).float().mean())


if __name__ == "__main__":
    print(f"ROC AUC on hidden edges: {main():.3f}")

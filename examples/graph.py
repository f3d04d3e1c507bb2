"""Graphs: rings of 41 nodes with chords to every second, third, … sixth node.

All nodes look alike, so no message passing without noise can tell one ring from another.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

from engnn import ENGNN

CHORDS = (2, 3, 4, 5, 6)


def ring(chord: int) -> Data:
    """The circular skip link graph CSL(41, chord), its nodes in a random order."""
    node = torch.arange(41)
    edges = torch.cat([torch.stack([node, (node + step) % 41]) for step in (1, chord)], dim=1)
    edges = torch.randperm(41)[edges]
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=CHORDS.index(chord), num_nodes=41)


def main(steps: int = 400, variant: str = "engnn") -> float:
    """The share of rings, each in an order never seen, whose chords are named rightly (one in five by chance)."""
    torch.manual_seed(0)
    model = ENGNN(
        0,
        32,
        len(CHORDS),
        num_layers=3,
        noise_channels=48,
        noise_dim=8,
        noise="onehot",
        variant=variant,
        output="class",
    )
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for step in range(steps):
        batch = Batch.from_data_list([ring(chord) for chord in CHORDS])
        out = model(None, batch.edge_index, batch=batch.batch, size=batch.num_graphs, noise=step)
        loss = F.cross_entropy(out, batch.y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    test = Batch.from_data_list([ring(chord) for chord in CHORDS for _ in range(10)])
    answers = model.predict(test, draws=4)
    return float((answers.mean.argmax(-1) == test.y).float().mean())


if __name__ == "__main__":
    for variant in ("engnn", "mpnn"):
        print(f"{variant}: accuracy on rings in new orders {main(variant=variant):.3f}")

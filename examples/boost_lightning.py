"""A boosted model trained by Lightning (needs the extra `lightning`)."""

from __future__ import annotations

import pytorch_lightning as pl
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import global_mean_pool
from torch_geometric.nn.models import GCN

from engnn import AddNoise, boost


class Regression(pl.LightningModule):
    """The mean of the node features, to be learned."""

    def __init__(self) -> None:
        super().__init__()
        self.model = boost(GCN(3, 16, num_layers=2, out_channels=1), noise_channels=8)

    def training_step(self, batch: Batch, index: int) -> torch.Tensor:
        out = self.model(batch.x, batch.edge_index, batch=batch.batch, noise=batch.noise)
        loss = (global_mean_pool(out, batch.batch)[:, 0] - batch.y).square().mean()
        self.last = float(loss.detach())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main(epochs: int = 15) -> float:
    """The loss at the end."""
    torch.manual_seed(0)
    graphs = [Data(torch.randn(6, 3), torch.randint(6, (2, 12)), graph_id=i) for i in range(64)]
    for data in graphs:
        data.y = data.x.mean()
    loader = DataLoader([AddNoise(noise_channels=8)(data) for data in graphs], batch_size=16)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    module = Regression()
    pl.Trainer(max_epochs=epochs, accelerator="cpu", **quiet).fit(module, loader)
    return module.last


if __name__ == "__main__":
    print(f"loss: {main():.3f}")

"""Noise as a transform: what a DataLoader's workers give a graph is what it has without them."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from engnn import AddNoise


def main(workers: int = 2) -> bool:
    """Whether the graphs have the same noise with and without workers."""
    add_noise = AddNoise("onehot+normal", 16)
    graphs = [add_noise(Data(torch.ones(n, 1), torch.randint(n, (2, 2 * n)), graph_id=n)) for n in range(3, 15)]
    alone = {int(data.graph_id): data.noise for data in graphs}

    class Graphs(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(graphs)

        def __getitem__(self, index: int) -> Data:
            return add_noise(graphs[index].clone())

    batches = DataLoader(Graphs(), batch_size=5, shuffle=True, num_workers=workers)
    loaded = [data for batch in batches for data in batch.to_data_list()]
    return all(torch.equal(data.noise, alone[int(data.graph_id)]) for data in loaded)


if __name__ == "__main__":
    print(f"the same: {main()}")

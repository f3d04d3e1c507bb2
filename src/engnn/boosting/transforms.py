"""Noise as transforms of PyG: a function of what a graph is called, and so the same whatever the worker."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.transforms import BaseTransform

from engnn import noise as noises
from engnn.errors import InputError


class AddNoise(BaseTransform):
    """Gives data their noise: `data.noise`, `[n, C]`, or `[n, C, K]` for a sum of K kinds.

    The noise is that of `engnn.noise.sample` for `seed`, `draw` and the graph's name: `data.graph_id` where there is
    one, else `content_key`. It is therefore the same whatever the DataLoader's workers, order and batches; two graphs
    without a name and of the same content have the same noise. Set `draw` to the epoch for other noise in every epoch.

    Of a `HeteroData`, every type of nodes is given noise of its own, in the same channels.

    For a loader of neighbourhoods, transform the whole graph: a node then keeps its noise in every batch.

    >>> data = Data(torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]]))
    >>> AddNoise("onehot+normal", 16)(data).noise.shape
    torch.Size([3, 16, 2])
    """

    def __init__(self, kind: str = "onehot+normal", noise_channels: int = 16, *, seed: int = 0, draw: int = 0) -> None:
        self.kinds = len(noises.parse(kind))
        if noise_channels < 1:
            raise InputError(f"noise_channels={noise_channels}: there must be at least one channel")
        self.kind, self.noise_channels, self.seed, self.draw = kind, noise_channels, seed, draw

    def forward(self, data: Data | HeteroData) -> Data | HeteroData:
        if isinstance(data, HeteroData):
            for place, name in enumerate(sorted(data.node_types)):
                low, high, _, _ = noises.philox((place, 0, 0, 0), self.seed)
                data[name].noise = self._noise(data, data[name], low | high << 32)  # a seed of its own for each type
        else:
            data.noise = self._noise(data, data, self.seed)
        return data

    def _noise(self, data: Data | HeteroData, nodes: Data, seed: int) -> Tensor:
        """The noise of one type of nodes of some data."""
        if nodes.num_nodes is None:
            raise InputError("nothing tells how many nodes the data have: give them x or num_nodes")
        batch = nodes.batch if isinstance(data, Batch) else None
        names = getattr(data, "graph_id", None)
        if names is None:
            parts = data.to_data_list() if isinstance(data, Batch) else [data]
            names = [content_key(part) for part in parts]
        names = torch.as_tensor(names).reshape(-1)
        sample = partial(noises.sample, self.kind, nodes.num_nodes, self.noise_channels)
        noise: Tensor = sample(seed=seed, draw=self.draw, batch=batch, graph_id=names, device=_device(data))
        return noise

    def __repr__(self) -> str:
        named = f"{self.kind!r}, {self.noise_channels}, seed={self.seed}, draw={self.draw}"
        return f"{type(self).__name__}({named})"


class AddNoiseFeatures(AddNoise):
    """Writes noise beside the node features: `data.x` is x ‖ noise, as in rGIN.

    The numbers are those of `AddNoise`, brought to mean square 1. A model that takes them as they are is not
    equivariant: what it says changes with the draw.

    >>> AddNoiseFeatures("normal", 4)(Data(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]))).x.shape
    torch.Size([3, 6])
    """

    def forward(self, data: Data | HeteroData) -> Data | HeteroData:
        data = super().forward(data)
        for nodes in data.node_stores:
            noise = nodes.pop("noise").reshape(nodes.num_nodes, self.noise_channels, self.kinds)
            noise = (noise * noise.new_tensor(noises.scales(self.kind, self.noise_channels))).flatten(1)
            x = nodes.x if "x" in nodes else noise[:, :0]
            x = x[:, None] if x.dim() == 1 else x
            nodes.x = torch.cat([x, noise.to(x.dtype if x.is_floating_point() else noise.dtype)], 1)
        return data


def content_key(data: Data | HeteroData) -> int:
    """A number of 63 bits made of a graph's nodes, edges and their features: the same on every machine.

    >>> one, same = (Data(torch.ones(2, 1), torch.tensor([[0], [1]])) for _ in range(2))
    >>> content_key(one) == content_key(same) != content_key(Data(torch.ones(2, 1), torch.tensor([[1], [0]])))
    True
    """
    made = blake2b(digest_size=8)
    nodes = [(store, ("x",), store.num_nodes) for store in data.node_stores]
    edges = [(store, ("edge_index", "edge_attr"), None) for store in data.edge_stores]
    for store, keys, num_nodes in [*nodes, *edges]:
        made.update(f"{store._key} {num_nodes}".encode())
        for key in keys:
            if key in store:
                made.update(f"{key} {list(store[key].shape)} {store[key].dtype}".encode())
                made.update(store[key].detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return int.from_bytes(made.digest(), "little") >> 1


def _device(data: Data | HeteroData) -> torch.device:
    values = (value for store in data.stores for value in store.values())
    return next((value.device for value in values if isinstance(value, Tensor)), torch.device("cpu"))

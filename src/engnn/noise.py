"""Noise: what each kind is, and how a value is found from a counter rather than drawn from a generator.

The value at a node and channel is a pure function of (seed, draw, graph id, node id within its graph, channel), and for
`orthogonal` and `onehot` on more nodes than channels also of the number of nodes. It is therefore the same whatever the
batch, its order, the worker or the point at which a run was resumed, and no generator's state has to be saved.

The bits are those of Philox4x32-10 (Salmon, Moraes, Dror & Shaw, 2011) at the counter (node, channels, graph id), under
a key that is itself made by Philox of the seed and the draw. Graph ids, seeds and draws count with all their 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engnn.errors import InputError, nearest

Word = int | Tensor  # a 64-bit integer, or a 0-d tensor of one (which torch.compile can trace)


def sample(
    kind: str,
    num_nodes: int,
    noise_channels: int,
    *,
    seed: Word,
    draw: Word = 0,
    batch: Tensor | None = None,
    graph_id: Tensor | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Noise `[n, C]` of one kind, or `[n, C, K]` for a sum of K kinds such as `onehot+normal`.

    `batch` `[n]` tells the graph of each node, `graph_id` `[B]` what those graphs are called: give it, and a graph gets
    the same noise in every batch. Without `batch` there is one graph, without `graph_id` they are called 0, 1, ….

    | kind | a node's C values |
    | --- | --- |
    | `normal` | independent, standard normal |
    | `uniform` | independent, uniform between −√3 and √3 (mean 0, variance 1) |
    | `rademacher` | independent, −1 or 1 |
    | `orthogonal` | a row of a random orthonormal frame; a graph of more than C nodes has a frame for every C of them |
    | `onehot` | 1 on one channel, else 0: all nodes differ while n ≤ C; beyond, the C channels are shared evenly |
    | `zero` | 0 (the paper's ablation MPNN) |

    Each is invariant in distribution to permutations of a graph's nodes, and of the channels.

    >>> sample("onehot", 3, 4, seed=0).sum(1).tolist()
    [1.0, 1.0, 1.0]
    >>> sample("onehot+normal", 3, 4, seed=0).shape
    torch.Size([3, 4, 2])
    >>> a = sample("normal", 5, 4, seed=1, batch=torch.tensor([0, 0, 1, 1, 1]), graph_id=torch.tensor([7, 3]))
    >>> b = sample("normal", 3, 4, seed=1, batch=torch.zeros(3, dtype=torch.long), graph_id=torch.tensor([3]))
    >>> torch.equal(a[2:], b)
    True
    """
    kinds = parse(kind)
    if noise_channels < 1:
        raise InputError(f"noise_channels={noise_channels}: there must be at least one channel")
    for name, word in (("seed", seed), ("draw", draw)):
        if isinstance(word, int) and not -(2**63) <= word < 2**64:
            raise InputError(f"{name}={word} is no number of 64 bits: give one between -2**63 and 2**64 - 1")
    if device is None:
        device = torch.device("cpu") if batch is None else batch.device
    if batch is None:
        batch = torch.zeros(num_nodes, dtype=torch.long, device=device)
    elif batch.shape != (num_nodes,):
        raise InputError(f"batch has shape {tuple(batch.shape)}, but there are {num_nodes} nodes: give one graph each")
    batch = batch.to(device, torch.long)
    if graph_id is None:
        graphs = 0 if not num_nodes else 1 + int(batch.max())
        graph_id = torch.arange(graphs, device=device)
    elif batch.is_cpu and num_nodes and not torch.compiler.is_compiling() and int(batch.max()) >= len(graph_id):
        raise InputError(f"batch has a graph {int(batch.max())}, but graph_id names {len(graph_id)}: name every graph")
    nodes = _Nodes(batch, graph_id.to(device, torch.long), noise_channels, seed, draw)
    features = [_KINDS[name](nodes, stream) for stream, name in enumerate(kinds)]
    noise = features[0] if len(features) == 1 else torch.stack(features, dim=-1)
    return noise.to(dtype or torch.get_default_dtype())


def parse(kind: str) -> tuple[str, ...]:
    """The kinds in a sum of kinds, each of which is one input feature of every channel.

    >>> parse("onehot+normal")
    ('onehot', 'normal')
    """
    kinds = tuple(kind.split("+"))
    for name in kinds:
        if name not in _KINDS:
            raise InputError(f"noise kind {name!r} in {kind!r} is not known; {nearest(name, _KINDS)}")
    return kinds


def as_features(noise: Tensor, kind: str, num_nodes: int, noise_channels: int) -> Tensor:
    """Noise `[n, C]`, or for a sum of K kinds `[n, C, K]`, as models hear it: `[n, C, K]`, of mean square 1.

    >>> as_features(sample("onehot", 3, 4, seed=0), "onehot", 3, 4).square().mean((1, 2))
    tensor([1., 1., 1.])
    """
    kinds = len(parse(kind))
    shape = (num_nodes, noise_channels, kinds)
    wanted = shape if kinds > 1 else shape[:2]
    if tuple(noise.shape) not in (shape, wanted):
        raise InputError(
            f"noise has shape {list(noise.shape)}, but this model takes {list(wanted)}: {num_nodes} nodes, "
            f"noise_channels={noise_channels}, one feature for each kind in {kind!r}"
        )
    return noise.reshape(shape) * noise.new_tensor(scales(kind, noise_channels))


def scales(kind: str, noise_channels: int) -> list[float]:
    """What brings each kind in a sum of kinds to mean square 1: rows of a frame, and marks, have length 1 over C.

    >>> scales("onehot+normal", 16)
    [4.0, 1.0]
    """
    return [noise_channels**0.5 if name in ("orthogonal", "onehot") else 1.0 for name in parse(kind)]


class _Nodes:
    """The nodes of a batch, as counters."""

    def __init__(self, batch: Tensor, graph_id: Tensor, channels: int, seed: Word, draw: Word) -> None:
        self.batch, self.graph_id, self.channels = batch, graph_id, channels
        low, high, _, _ = philox((draw & _LOW, draw >> 32, 0, 0), seed)
        self.key = low | (high << 32)
        self.size = torch.zeros_like(graph_id).index_add_(0, batch, torch.ones_like(batch))
        self.node = self.places(torch.argsort(batch, stable=True))

    def places(self, order: Tensor) -> Tensor:
        """Each node's place within its graph, when `order` lists the nodes graph by graph."""
        first = self.size.cumsum(0) - self.size
        place = torch.arange(len(order), device=order.device) - first[self.batch[order]]
        return torch.empty_like(order).index_copy_(0, order, place)

    def words(self, graph: Tensor, node: Tensor, channels: int, stream: int) -> Tensor:
        """Random 32-bit words `[..., channels]` for nodes `node` of the graphs called `graph`."""
        block = torch.arange(-(-channels // 4), device=node.device)
        graph = graph[..., None]
        words = philox((node[..., None], (stream << 20) + block, graph, graph >> 32), self.key)
        return torch.stack(words, dim=-1).flatten(-2)[..., :channels]

    def uniform(self, stream: int) -> Tensor:
        return unit(self.words(self.graph_id[self.batch], self.node, self.channels, stream))

    def slots(self, stream: int) -> Tensor:
        """The nodes of each graph dealt out to the slots 0, 1, …: as they come while n ≤ C, else in random order.

        The order matters only when slots are shared, which must not favour nodes with neighbouring numbers.
        """
        word = self.words(self.graph_id[self.batch], self.node, 2, stream)
        order = torch.argsort((word[:, 0] << 31) ^ word[:, 1])
        order = order[torch.argsort(self.batch[order], stable=True)]
        return torch.where(self.size[self.batch] > self.channels, self.places(order), self.node)


def _normal(nodes: _Nodes, stream: int) -> Tensor:
    return gaussian(nodes.words(nodes.graph_id[nodes.batch], nodes.node, _even(nodes.channels), 16 * stream))[
        :, : nodes.channels
    ]


def _uniform(nodes: _Nodes, stream: int) -> Tensor:
    return math.sqrt(3) * (2 * nodes.uniform(16 * stream) - 1)


def _rademacher(nodes: _Nodes, stream: int) -> Tensor:
    return (nodes.uniform(16 * stream) >= 0.5) * 2.0 - 1


def _orthogonal(nodes: _Nodes, stream: int) -> Tensor:
    c = nodes.channels
    frames = (nodes.size + c - 1) // c  # of each graph
    first = frames.cumsum(0) - frames
    graph = torch.repeat_interleave(torch.arange(len(frames), device=frames.device), frames)
    row = (torch.arange(len(graph), device=graph.device) - first[graph])[:, None] * c
    row = row + torch.arange(c, device=graph.device)
    words = nodes.words(nodes.graph_id[graph][:, None].expand_as(row), row, _even(c), 16 * stream)
    q, r = torch.linalg.qr(gaussian(words)[..., :c])
    frame: Tensor = q * r.diagonal(dim1=-2, dim2=-1).sgn()[..., None, :]  # with these signs, uniform over all frames
    slot = nodes.slots(16 * stream + 1)
    return frame[first[nodes.batch] + slot // c, slot % c]


def _onehot(nodes: _Nodes, stream: int) -> Tensor:
    zero = torch.zeros_like(nodes.graph_id)
    word = nodes.words(nodes.graph_id, zero, 2 * nodes.channels, 16 * stream)
    channel = torch.argsort((word[:, ::2] << 31) ^ word[:, 1::2], dim=1)  # a random permutation for each graph
    mark = channel[nodes.batch, nodes.slots(16 * stream + 1) % nodes.channels]
    return torch.nn.functional.one_hot(mark, nodes.channels).double()


def _zero(nodes: _Nodes, stream: int) -> Tensor:
    return torch.zeros(len(nodes.batch), nodes.channels, device=nodes.batch.device)


_KINDS: dict[str, Callable[[_Nodes, int], Tensor]] = {
    "normal": _normal,
    "uniform": _uniform,
    "rademacher": _rademacher,
    "orthogonal": _orthogonal,
    "onehot": _onehot,
    "zero": _zero,
}
KINDS = tuple(_KINDS)

_LOW = 0xFFFFFFFF


def philox(counter: tuple[Any, Any, Any, Any], key: Word) -> tuple[Any, ...]:
    """Philox4x32-10: four random 32-bit words for each counter of four 32-bit words, under a 64-bit key.

    Counters are int64 tensors or whole numbers, and so are the words.

    >>> [hex(word) for word in philox((0, 0, 0, 0), 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b, c, d = (word & _LOW for word in counter)
    low, high = key & _LOW, (key >> 32) & _LOW
    for _ in range(10):
        # The product wraps around modulo 2^64; its two halves are right all the same once masked.
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = ((q >> 32) & _LOW) ^ b ^ low, q & _LOW, ((p >> 32) & _LOW) ^ d ^ high, p & _LOW
        low, high = (low + 0x9E3779B9) & _LOW, (high + 0xBB67AE85) & _LOW
    return a, b, c, d


def unit(words: Tensor) -> Tensor:
    """32-bit words as numbers inside (0, 1)."""
    return (words.double() + 0.5) / 2**32


def gaussian(words: Tensor) -> Tensor:
    """32-bit words `[..., even]` as independent standard normal numbers (Box & Muller, 1958)."""
    u, v = unit(words[..., ::2]), unit(words[..., 1::2])
    radius, angle = (-2 * u.log()).sqrt(), 2 * math.pi * v
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1).flatten(-2)


def _even(count: int) -> int:
    return count + count % 2

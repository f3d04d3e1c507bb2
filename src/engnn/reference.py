"""The oracle of the tests: the paper's equations once more, one node and one channel at a time, with nothing shared.

It is slow on purpose. Every loop is written out, every concatenation is built, and nothing of `engnn.nn` is used but
its weights, by their names. Sets are lists; `x[i]` is a vector, and `z[i][k]` the vector of node i at channel k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

Channels = list[Tensor]  # z[i]: a vector for every noise channel
Edge = tuple[int, int, Tensor | None]  # from, to, and the edge's features


class Weights:
    """The weights of a module by name, in double precision: `weights("phi")("lin1")["bias"]`.

    >>> Weights.of(nn.Sequential(nn.Linear(2, 3)))("0")["bias"].shape
    torch.Size([3])
    """

    def __init__(self, named: Mapping[str, Tensor]) -> None:
        self.named = named

    @classmethod
    def of(cls, module: nn.Module) -> Weights:
        return cls({name: weight.double() for name, weight in module.named_parameters()})

    def __call__(self, part: str) -> Weights:
        prefix = part + "."
        return Weights({name.removeprefix(prefix): w for name, w in self.named.items() if name.startswith(prefix)})

    def __getitem__(self, name: str) -> Tensor:
        return self.named[name]

    def __contains__(self, part: str) -> bool:
        return any(name.split(".")[0] == part for name in self.named)


def linear(w: Weights, *parts: Tensor) -> Tensor:
    """W (a ‖ b ‖ …) + bias."""
    out = w["weight"] @ torch.cat(parts)
    return out + w["bias"] if "bias" in w else out


def mlp(w: Weights, *parts: Tensor) -> Tensor:
    return linear(w("lin2"), linear(w("lin1"), *parts).relu())


def total(vectors: Sequence[Tensor], width: int) -> Tensor:
    """Σ over a set that may be empty."""
    out = torch.zeros(width, dtype=torch.float64)
    for vector in vectors:
        out = out + vector
    return out


def deep_set(w: Weights, elements: Sequence[Tensor], typical: float, edges: Sequence[Tensor] | None = None) -> Tensor:
    """MLP₂(Σ MLP₁(xᵢ) / max(τ, k) ‖ log(1 + k)); an edge's share of MLP₁'s first Linear is added by the caller."""
    inner = [linear(w("lin1"), element) for element in elements]
    if edges is not None:
        inner = [value + edge for value, edge in zip(inner, edges, strict=True)]
    size = len(elements)
    summed = total([value.relu() for value in inner], len(w("lin1")["weight"])) / max(typical, size)
    return mlp(w("mlp2"), summed, torch.tensor([math.log(1 + size)], dtype=torch.float64))


class Symmetry(NamedTuple):
    """ψ of the vectors of a set at one channel or at all of them, φ, and h."""

    psi: Callable[[Weights, list[Channels], float, int], Channels]
    phi: Callable[[Weights, Channels], Tensor]
    h: Callable[[Weights, Tensor, Channels], Channels]


def permutation_psi(w: Weights, z: list[Channels], typical: float, channels: int) -> Channels:
    return [deep_set(w, [node[k] for node in z], typical) for k in range(channels)]


def permutation_phi(w: Weights, z1: Channels) -> Tensor:
    inner = [linear(w("lin1"), vector).relu() for vector in z1]
    return mlp(w("mlp2"), total(inner, len(w("lin1")["weight"])) / math.sqrt(len(z1)))


def permutation_h(w: Weights, node: Tensor, z1: Channels) -> Channels:
    return [mlp(w("mlp"), vector, node) + linear(w("lin"), vector) for vector in z1]


def orthogonal_psi(w: Weights, z: list[Channels], typical: float, channels: int) -> Channels:
    width = w("lin")["weight"].size(1)
    return [linear(w("lin"), total([node[k] for node in z], width) / max(typical, len(z))) for k in range(channels)]


def orthogonal_phi(w: Weights, z1: Channels) -> Tensor:
    products = [linear(w("lin_u"), vector) * linear(w("lin_v"), vector) for vector in z1]
    return mlp(w("mlp"), total(products, len(w("lin_u")["weight"])) / math.sqrt(len(z1)))


def orthogonal_h(w: Weights, node: Tensor, z1: Channels) -> Channels:
    gate = 2 / (1 + torch.exp(-mlp(w("gate"), node)))
    return [linear(w("lin2"), gate * linear(w("lin1"), vector)) for vector in z1]


PERMUTATION = Symmetry(permutation_psi, permutation_phi, permutation_h)
ORTHOGONAL = Symmetry(orthogonal_psi, orthogonal_phi, orthogonal_h)


def aggregator(
    w: Weights, x: list[Tensor], z: list[Channels], channels: int, typical: float, symmetry: Symmetry
) -> tuple[list[Tensor], list[Channels]]:
    """AGGR of one set."""
    psi = symmetry.psi(w("psi"), z, typical, channels)
    z1 = [[torch.cat([node[k], psi[k]]) for k in range(channels)] for node in z]
    x0 = [torch.cat([symmetry.phi(w("phi"), z1[i]), x[i]]) for i in range(len(x))]
    x1 = deep_set(w("varphi"), x0, typical)
    x2 = [mlp(w("g"), x1, x0[i]) for i in range(len(x))]
    z2 = [symmetry.h(w("h"), torch.cat([x1, x0[i]]), z1[i]) for i in range(len(x))]
    return x2, z2


def conv(
    w: Weights,
    x: list[Tensor],
    z: list[Channels],
    edges: Sequence[Edge],
    graphs: Sequence[Sequence[int]],
    *,
    channels: int,
    noise_messages: bool,
    degree: float,
    typical: float,
    symmetry: Symmetry,
) -> tuple[list[Tensor], list[Channels]]:
    """The message-passing layer on all the graphs (lists of their nodes) of a batch."""
    n = len(x)
    into: list[list[tuple[int, Tensor | None]]] = [[] for _ in range(n)]
    for source, target, feature in edges:
        into[target].append((source, feature))
    z1: list[Channels] = [[] for _ in range(n)]
    for nodes in graphs:
        psi = symmetry.psi(w("psi"), [z[i] for i in nodes], typical, channels)
        for i in nodes:
            for k in range(channels):
                parts = [z[i][k]]
                if noise_messages:
                    near = total([z[j][k] for j, _ in into[i]], len(z[i][k]))
                    parts.append(near * math.sqrt(degree) / max(degree, len(into[i])))
                z1[i].append(torch.cat([*parts, psi[k]]))
    x0 = [torch.cat([symmetry.phi(w("phi"), z1[i]), x[i]]) for i in range(n)]
    x2, z2 = [], []
    for i in range(n):
        features = [linear(w("lin_edge"), feature) for _, feature in into[i] if feature is not None]
        x1 = deep_set(w("varphi"), [x0[j] for j, _ in into[i]], degree, features if "lin_edge" in w else None)
        x2.append(mlp(w("g"), x1, x0[i]))
        z2.append(symmetry.h(w("h"), torch.cat([x1, x0[i]]), z1[i]))
    return x2, z2


def pooling(
    w: Weights, x: list[Tensor], z: list[Channels], channels: int, typical: float, symmetry: Symmetry
) -> tuple[Tensor, Channels]:
    """AGGR, then the sums over the set divided by max(τ, k)."""
    x2, z2 = aggregator(w("aggr"), x, z, channels, typical, symmetry)
    scale = 1 / max(typical, len(x))
    width = len(w("aggr")("g")("lin2")["weight"])
    h = w("aggr")("h")
    noise_width = len(h("lin")["weight"]) if "lin" in h else len(h("lin2")["weight"])
    pooled = [total([node[k] for node in z2], noise_width) * scale for k in range(channels)]
    return total(x2, width) * scale, pooled


def readout(
    w: Weights,
    x: list[Tensor],
    z: list[Channels],
    graph: Sequence[int],
    target: Sequence[int] | None,
    *,
    channels: int,
    typical: float,
    symmetry: Symmetry,
    link: bool = False,
) -> Tensor:
    """h_U of one target U within its graph V, or h_G where there is no target; of a `link`, with X_u ⊙ X_v."""
    x_g, z_g = pooling(w("graph"), [x[i] for i in graph], [z[i] for i in graph], channels, typical, symmetry)
    if target is None:
        return mlp(w("mlp"), x_g, symmetry.phi(w("deep_set"), z_g))
    x_u, z_u = pooling(w("subset"), [x[i] for i in target], [z[i] for i in target], channels, 1.0, symmetry)
    both = [torch.cat([z_u[k], z_g[k]]) for k in range(channels)]
    pair = [x[target[0]] * x[target[1]]] if link else []
    return mlp(w("mlp"), x_u, x_g, symmetry.phi(w("deep_set"), both), *pair)


def layer_norm(w: Weights, vector: Tensor) -> Tensor:
    centred = vector - vector.mean()
    return centred / torch.sqrt((centred**2).mean() + 1e-5) * w["weight"] + w["bias"]


def engnn(
    w: Weights,
    x: Tensor | None,
    noise: Tensor,
    edges: Sequence[Edge],
    graphs: Sequence[Sequence[int]],
    targets: Sequence[tuple[int, Sequence[int] | None]],
    *,
    layers: int,
    noise_messages: bool = True,
    degree: float = 4.0,
    typical: float = 32.0,
    symmetry: Symmetry | None = PERMUTATION,
    link: bool = False,
    feature_scale: float = 1.0,
) -> Tensor:
    """ENGNN on noise `[n, C, K]` of mean square 1; a target is the number of its graph and its nodes (None: all).

    Without a symmetry the noise is a node's plain features.
    """
    n, channels = noise.shape[:2]
    noise, none = noise.double(), torch.zeros(0, dtype=torch.float64)
    features = [none if x is None else feature_scale * x[i].double() for i in range(n)]
    plain = [noise[i].flatten() if symmetry is None else none for i in range(n)]
    heard = torch.zeros_like(noise) if symmetry is None else noise
    group = symmetry or PERMUTATION
    xs = [linear(w("lin_x"), features[i], plain[i]) for i in range(n)]
    zs = [[linear(w("lin_z"), heard[i, k]) for k in range(channels)] for i in range(n)]
    for number in range(layers):
        normed = [layer_norm(w("norms")(str(number)), vector) for vector in xs]
        layer = w("convs")(str(number))
        dx, dz = conv(
            layer,
            normed,
            zs,
            edges,
            graphs,
            channels=channels,
            noise_messages=noise_messages,
            degree=degree,
            typical=typical,
            symmetry=group,
        )
        xs = [xs[i] + dx[i] for i in range(n)]
        zs = [[zs[i][k] + dz[i][k] for k in range(channels)] for i in range(n)]
    xs = [layer_norm(w("norms")(str(layers)), vector) for vector in xs]
    answers = [
        readout(
            w("readout"),
            xs,
            zs,
            graphs[graph],
            target,
            channels=channels,
            typical=typical,
            symmetry=group,
            link=link,
        )
        for graph, target in targets
    ]
    return torch.stack(answers)

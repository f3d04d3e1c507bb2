"""What a convolution of PyG returns, and whether equivariant noise can stand beside it."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch_geometric.nn import MessagePassing

from engnn.errors import InputError

UNSUPPORTED = {
    "HypergraphConv": "its edge_index joins nodes and hyperedges, along which no noise can be passed from node to node",
    "HGTConv": "it takes nodes of several types; wrap it in HeteroEquivariantNoise",
    "HANConv": "it takes nodes of several types; wrap it in HeteroEquivariantNoise",
    "HeteroConv": "it takes nodes of several types; wrap it in HeteroEquivariantNoise",
}


def check(conv: Any) -> None:
    """Refuses what is no convolution, or none that takes `(x, edge_index)`."""
    name = type(conv).__name__
    if name in UNSUPPORTED:
        raise InputError(f"{name} is not supported: {UNSUPPORTED[name]}")
    if not isinstance(conv, nn.Module) or not any(isinstance(part, MessagePassing) for part in conv.modules()):
        raise InputError(
            f"{name} is no convolution of torch_geometric: give one that takes (x, edge_index), as GCNConv"
        )


def returned(conv: nn.Module) -> int | None:
    """The width of what a convolution returns, where it can be told from its attributes.

    >>> from torch_geometric.nn import GATConv
    >>> returned(GATConv(3, 8, heads=2)), returned(GATConv(3, 8, heads=2, concat=False))
    (16, 8)
    """
    width = getattr(conv, "out_channels", None)
    if width is None and isinstance(inner := getattr(conv, "nn", None), nn.Module):
        # that of the last Linear: GINConv and its like are given an MLP
        widths = [getattr(part, "out_features", getattr(part, "out_channels", None)) for part in inner.modules()]
        width = next((found for found in reversed(widths) if found is not None), None)
    if width is None:
        width = getattr(conv, "channels", None)
    if not isinstance(width, int):
        return None
    return width * getattr(conv, "heads", 1) if getattr(conv, "concat", False) else width

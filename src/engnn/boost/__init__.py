"""Equivariant noise for the models of others: around a convolution, in a whole model, as a transform of data."""

from engnn.boost.layer import EquivariantNoise
from engnn.boost.model import boost

__all__ = ["EquivariantNoise", "boost"]

"""Equivariant noise for the models of others: around a convolution, in a whole model, as a transform of data."""

from engnn.boosting.hetero import HeteroEquivariantNoise
from engnn.boosting.layer import EquivariantNoise
from engnn.boosting.model import boost
from engnn.boosting.sampler import NeighbourSampler
from engnn.boosting.transforms import AddNoise, AddNoiseFeatures

__all__ = ["AddNoise", "AddNoiseFeatures", "EquivariantNoise", "HeteroEquivariantNoise", "NeighbourSampler", "boost"]

"""The paper's method, in this order: linear, deep_set, aggregator, conv, readout, model; then orthogonal."""

from engnn.nn.aggregator import EquivariantAggregator
from engnn.nn.conv import ENConv
from engnn.nn.deep_set import PERMUTATION, DeepSet
from engnn.nn.model import ENGNN
from engnn.nn.orthogonal import ORTHOGONAL
from engnn.nn.readout import SubsetReadout

__all__ = ["ENGNN", "ORTHOGONAL", "PERMUTATION", "DeepSet", "ENConv", "EquivariantAggregator", "SubsetReadout"]

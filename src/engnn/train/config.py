"""What decides how a run goes. These classes are the only place where settings are named and have defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from engnn.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The model.

    Args:
        name: engnn, or a baseline: the name of its file in engnn.baselines
        variant: of engnn; mpnn replaces the noise by zero, nmpnn takes it as plain features
        layers: message-passing layers
        hidden: width of the node representation
        noise_channels: noise channels C
        noise_dim: width L of each noise channel's representation
        noise: kind of noise, or a sum of kinds such as onehot+normal
        symmetry: what the noise channels may undergo without changing the answer
        noise_messages: whether layers also sum the neighbours' noise
        dropout: share of the node features, and of what each layer adds, that is dropped in training
    """

    name: str = "engnn"
    variant: Literal["engnn", "mpnn", "nmpnn"] = "engnn"
    layers: int = 4
    hidden: int = 64
    noise_channels: int = 16
    noise_dim: int = 16
    noise: str = "onehot+normal"
    symmetry: Literal["permutation", "orthogonal", "none"] = "permutation"
    noise_messages: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "noise_channels", "noise_dim"):
            _within(f"model.{name}", getattr(self, name), 1, 1 << 16)
        _within("model.dropout", self.dropout, 0.0, 0.95)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The training.

    Args:
        epochs: passes over the training part, at most
        batch_size: graphs in a batch; subgraphs, or links (a tenth of all links at most), where there is one graph
        learning_rate: of AdamW, at its highest
        weight_decay: of AdamW
        warmup: share of all steps in which the learning rate rises, before it falls along a cosine to 0
        squared: of values, the weight of the squared error beside the absolute one, which leaves rare values out
        clip: the norm to which gradients are cut (0: they are not)
        average: decay of a running average of the weights, which then is what is evaluated and kept (0: none)
        patience: epochs without a better validation score after which training ends (0: never)
        evaluate_every: epochs between two looks at the validation part
        checkpoint_seconds: seconds between two checkpoints
        checkpoint_steps: steps between two checkpoints, at most (0: no such limit)
        precision: of the forward pass; bfloat16 is mixed precision
        compile: whether the model goes through torch.compile
        deterministic: have torch refuse operations that it knows to differ between two runs (on a CPU there are none)
        device: where to compute; auto takes a CUDA device where there is one
    """

    epochs: int = 100
    batch_size: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    warmup: float = 0.05
    squared: float = 0.0
    clip: float = 1.0
    average: float = 0.0
    patience: int = 0
    evaluate_every: int = 1
    checkpoint_seconds: float = 30.0
    checkpoint_steps: int = 0
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    deterministic: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "evaluate_every"):
            _within(f"train.{name}", getattr(self, name), 1, 1 << 30)
        for name in ("patience", "checkpoint_steps"):
            _within(f"train.{name}", getattr(self, name), 0, 1 << 30)
        for name in ("weight_decay", "squared", "clip", "checkpoint_seconds"):
            _within(f"train.{name}", getattr(self, name), 0.0, 1e9)
        _within("train.learning_rate", self.learning_rate, 1e-12, 1e3)
        _within("train.warmup", self.warmup, 0.0, 1.0)
        _within("train.average", self.average, 0.0, 0.99999)


@dataclass(frozen=True, kw_only=True)
class Config:
    """A run.

    Args:
        data: a dataset's name, or a path to your own files
        task: what to learn, where the data leave it open: node, link, subgraph or graph
        split: one of the dataset's splits, by name
        metric: the score to choose by, in place of the dataset's own
        seed: of everything random: the split (where it is not published), the weights, the batches, the noise
        draws: of the noise, which the final scores and predictions are averaged over
    """

    data: str = ""
    task: Literal["", "node", "link", "subgraph", "graph"] = ""
    split: str = ""
    metric: str = ""
    seed: int = 0
    draws: int = 8
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        _within("seed", self.seed, 0, (1 << 62) - 1)
        _within("draws", self.draws, 1, 1 << 16)


def _within(name: str, value: float, least: float, most: float) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise InputError(f"{name} is {value}: it must be from {least:g} to {most:g}")


SECTIONS: Final[dict[str, type[Any]]] = {"model": ModelConfig, "train": TrainConfig}

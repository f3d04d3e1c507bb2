"""A whole model of PyG with equivariant noise beside each of its convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import MessagePassing, Sequential

from engnn import noise as noises
from engnn.boosting import widths as widths_of
from engnn.boosting.branch import Messages
from engnn.boosting.layer import EquivariantNoise
from engnn.errors import InputError
from engnn.nn.linear import Module, SplitLinear
from engnn.nn.model import SYMMETRIES
from engnn.sets import Sets


def boost(
    model: nn.Module,
    *,
    noise_channels: int = 16,
    noise_dim: int = 16,
    noise: str = "onehot+normal",
    symmetry: Literal["permutation", "orthogonal"] = "permutation",
    noise_messages: bool = True,
    degree: float = 4.0,
    typical: float = 32.0,
    zero_init: bool = True,
    widths: Mapping[str, int] | None = None,
) -> Boosted:
    """A copy of a model, weights and all, whose convolutions have equivariant noise beside them.

    Args:
        model: any module that calls its MessagePassing layers one after the other, as `torch_geometric.nn.models.GCN`
            or a `Sequential`.
        noise_channels, noise_dim: C and L.
        noise: a kind, or a sum of kinds, of `engnn.noise.sample`.
        symmetry: the group that the noise is treated under.
        noise_messages, degree, typical: see `EquivariantNoise`.
        zero_init: the boosted model says at the start what the model says, to the bit, and is trained on from there.
        widths: by a convolution's name in the model, the width of what it returns, where its attributes do not tell.

    >>> from torch_geometric.nn.models import GCN
    >>> model = GCN(3, 8, num_layers=2, out_channels=5)
    >>> boosted = boost(model)
    >>> x, edge_index = torch.randn(4, 3), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> torch.equal(boosted(x, edge_index, noise=0), model(x, edge_index))
    True
    >>> boosted.out_channels
    5
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"boost takes a model, and was given a {type(model).__name__}: give the module itself")
    if any(isinstance(part, Carrier) for part in model.modules()):
        raise InputError("the model is boosted already: boost the model that it was made of")
    if symmetry not in ("permutation", "orthogonal"):
        raise InputError(
            f"symmetry={symmetry!r}: boosted models take permutation or orthogonal; for noise as plain features there "
            "is AddNoiseFeatures"
        )
    stream = Stream()
    wrap = partial(
        EquivariantNoise,
        noise_channels=noise_channels,
        noise_dim=noise_dim,
        noise_messages=noise_messages,
        degree=degree,
        typical=typical,
        symmetry=SYMMETRIES[symmetry],
        zero_init=zero_init,
    )
    known = dict(widths or {})
    layers: dict[int, Carrier] = {}  # by the convolution, which may have several places in a model

    def boosted(module: nn.Module, name: str) -> nn.Module:
        if isinstance(module, Carrier):
            return module  # of a part that has several places
        if isinstance(module, MessagePassing) or type(module).__name__ in widths_of.UNSUPPORTED:
            if id(module) not in layers:
                try:
                    layer = wrap(module, out_channels=known.get(name))
                except InputError as error:
                    hint = f"; in boost, widths={{{name!r}: …}}" if "out_channels=" in str(error) else ""
                    raise InputError(f"{name or 'the model'}: {error}{hint}") from None
                layers[id(module)] = Carrier(layer, stream)
            return layers[id(module)]
        for child, part in list(module.named_children()):
            module.register_module(child, boosted(part, f"{name}.{child}".lstrip(".")))
        return module

    inner = boosted(deepcopy(model), "")
    if not layers:
        raise InputError(f"{type(model).__name__} has no MessagePassing layer that noise could stand beside")
    lin_z = SplitLinear([len(noises.parse(noise))], noise_dim, bias=SYMMETRIES[symmetry].bias)
    result = Boosted(inner, stream, lin_z, noise, noise_channels)
    like = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    result.to(like.device, like.dtype)
    result.training = model.training
    return result


class Stream:
    """What the convolutions of a model hand on beside x while it runs, and what they share."""

    z: Callable[[int], Tensor] | None  # makes it, for so many nodes; None: the model does not run
    batch: Tensor | None
    batch_size: int | None
    trims: bool  # whether the model drops the last nodes between layers, as they are not needed any more
    _graphs: tuple[int, Sets] | None
    _messages: tuple[Tensor, tuple[int, int], Messages | None] | None

    def __init__(self) -> None:
        self.close()

    def open(
        self,
        z: Callable[[int], Tensor] | None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        *,
        trims: bool = False,
    ) -> None:
        """Begin a run."""
        self.z, self.batch, self.batch_size, self.trims = z, batch, batch_size, trims
        self._graphs = self._messages = None

    def close(self) -> None:
        """End a run, and keep nothing of it."""
        self.open(None)

    def graphs(self, z: Tensor) -> Sets:
        """The nodes of each graph, those that z is of."""
        n = z.size(0)
        if self._graphs is None or self._graphs[0] != n:
            self._graphs = n, Sets.given(None if self.batch is None else self.batch[:n], self.batch_size, z)
        return self._graphs[1]

    def messages(self, layer: EquivariantNoise, edge_index: Tensor, z: Tensor, num_targets: int) -> Messages | None:
        """What the noise of neighbours is summed along: made once for layers that are given the same edges."""
        sizes = z.size(0), num_targets
        if self._messages is None or self._messages[0] is not edge_index or self._messages[1] != sizes:
            self._messages = edge_index, sizes, layer.messages(edge_index, z, num_targets)
        return self._messages[2]


class Carrier(nn.Module):
    """A convolution as its model calls it; the noise goes by the stream. Targets are the first of the sources."""

    layer: EquivariantNoise

    def __init__(self, layer: EquivariantNoise, stream: Stream) -> None:
        super().__init__()
        self.layer, self.stream = layer, stream

    def forward(self, x: Any, edge_index: Any, *args: Any, **kwargs: Any) -> Tensor:
        stream, layer, (sources, targets) = self.stream, self.layer, _sizes(x)
        if stream.z is None:
            raise InputError("a convolution of a boosted model was called by itself: call the boosted model")
        z = stream.z(sources)
        if stream.trims:
            z = z[:sources]
        if z.size(0) != sources:
            raise InputError(
                f"the model goes from {z.size(0)} to {sources} nodes between its convolutions (is there a pooling?), "
                "which boost cannot follow: wrap its convolutions one by one in EquivariantNoise"
            )
        noisy = z[:targets]
        x1 = layer.conv(x, edge_index, *args, **kwargs)
        layer.check_output(x1, noisy)
        messages = stream.messages(layer, edge_index, z, targets)
        total = None if messages is None else messages.sum(z)
        x2, later = layer.branch.begin(x1, noisy, total, stream.graphs(noisy))
        stream.z = lambda _: later()
        return x2

    def reset_parameters(self) -> None:
        self.layer.reset_parameters()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_modules"]["layer"].conv, name)


class Boosted(Module):
    """A model with noise beside its convolutions, called as the model is; made by `boost`.

    Its attributes are the model's, and `model` is the model itself.
    """

    def __init__(self, model: nn.Module, stream: Stream, lin_z: SplitLinear, noise: str, noise_channels: int) -> None:
        super().__init__()
        self.model, self.lin_z, self.stream = model, lin_z, stream
        self.noise, self.noise_channels, self.takes = noise, noise_channels, _parameters(model)

    def forward(
        self,
        *args: Any,
        noise: Tensor | int | None = None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        graph_id: Tensor | None = None,
        return_noise: bool = False,
        **kwargs: Any,
    ) -> Any:
        """What the model says of its own arguments.

        Args:
            *args, **kwargs: what the model takes.
            noise: the noise itself, `[n, C]` (`[n, C, K]` for a sum of K kinds); or a seed; or None, for a seed drawn
                from torch's global generator.
            batch: the graph of each node; one graph when None. The model is given it too, where it takes one.
            batch_size: the number of graphs; likewise.
            graph_id: what the graphs are called, so that a seed gives a graph the same noise in every batch.
            return_noise: whether the noise `[n, C, L]` that the last convolution hands on is returned too, as for
                `engnn.nn.SubsetReadout`.

        `noise`, `batch` and `graph_id` are those of a `Data` that the model is given, where they are there.
        """
        given: dict[str, Any] = {"noise": noise, "batch": batch, "batch_size": batch_size, "graph_id": graph_id}
        kwargs |= {key: value for key, value in given.items() if key in self.takes and value is not None}
        taken = dict(zip(self.takes, args, strict=False)) | kwargs
        if any(isinstance(value, dict | HeteroData) for value in taken.values()):
            raise InputError("boost takes models of one type of nodes: wrap yours in HeteroEquivariantNoise, by layer")
        data = next((value for value in taken.values() if isinstance(value, Data)), None)
        taken = {key: value for key, value in taken.items() if value is not data}  # GraphGym calls it batch
        for key in ("noise", "batch", "graph_id"):  # not batch_size: that of a neighbour loader counts its seed nodes
            given[key] = taken.get(key, getattr(data, key, None)) if given[key] is None else given[key]
        start = partial(self._start, noise=given["noise"], batch=given["batch"], graph_id=given["graph_id"])
        trims = taken.get("num_sampled_nodes_per_hop") is not None
        stream = self.stream
        stream.open(start, given["batch"], taken.get("batch_size", batch_size), trims=trims)
        try:
            out = self.model(*args, **kwargs)
            return (out, self._handed_on()) if return_noise else out
        finally:
            stream.close()

    def sample_noise(
        self,
        num_nodes: int,
        *,
        seed: noises.Word,
        draw: noises.Word = 0,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
    ) -> Tensor:
        """Noise of this model's kind, `[n, C]` or `[n, C, K]`, on its device and in its precision."""
        like = self.lin_z.weight
        noise = partial(noises.sample, self.noise, num_nodes, self.noise_channels, seed=seed, draw=draw)
        return noise(batch=batch, graph_id=graph_id, device=like.device, dtype=like.dtype)

    def _start(self, n: int, noise: Any, batch: Tensor | None, graph_id: Tensor | None) -> Tensor:
        """The first z, from the noise that was given or asked for, brought to mean square 1."""
        if not isinstance(noise, Tensor):
            seed = torch.randint(2**62, ()) if noise is None else noise
            noise = self.sample_noise(n, seed=seed, batch=batch, graph_id=graph_id)
        z: Tensor = self.lin_z(noises.as_features(noise, self.noise, n, self.noise_channels))
        return z

    def _handed_on(self) -> Tensor:
        """The noise after the last convolution."""
        assert self.stream.z is not None
        return self.stream.z(0)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)


def _parameters(model: nn.Module) -> list[str]:
    """The names of what a model takes, in their order."""
    return list(model.signature.param_dict if isinstance(model, Sequential) else signature(model.forward).parameters)


def _sizes(x: Any) -> tuple[int, int]:
    """The numbers of sources and of targets."""
    sources, targets = x if isinstance(x, tuple) else (x, x)
    if not isinstance(sources, Tensor):
        raise InputError(f"a boosted convolution was given x of type {type(sources).__name__}: it takes node features")
    return sources.size(0), (sources if targets is None else targets).size(0)

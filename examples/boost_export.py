"""A boosted model as a program of torch.export, for graphs of any size; the noise is one of its inputs."""

from __future__ import annotations

import io

import torch
from torch.export import Dim
from torch_geometric.nn.models import GIN

from engnn import boost


def main() -> float:
    """The largest difference between what the program and the model say of a graph that it has not seen."""
    model = boost(GIN(3, 16, num_layers=2, out_channels=1), zero_init=False).eval()

    def inputs(n: int, m: int) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
        return (torch.randn(n, 3), torch.randint(n, (2, m))), {"noise": model.sample_noise(n, seed=0)}

    n, m = Dim("n", min=2), Dim("m", min=2)
    sizes = {"args": ({0: n}, {1: m}), "noise": {0: n}}
    exported = torch.export.export(model, *inputs(10, 24), dynamic_shapes=sizes)
    file = io.BytesIO()
    torch.export.save(exported, file)
    program = torch.export.load(io.BytesIO(file.getvalue())).module()
    given, noise = inputs(37, 90)
    return float((program(*given, **noise) - model(*given, **noise)).detach().abs().max())


if __name__ == "__main__":
    print(f"difference: {main():.2g}")

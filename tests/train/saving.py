"""A program that saves checkpoint after checkpoint into the folder that it is given, until it is killed."""

from itertools import count
from pathlib import Path

import torch

from engnn.train import checkpoint

folder = Path(ARGUMENTS[0])  # type: ignore[name-defined]  # noqa: F821
found = checkpoint.load(folder)
print("saving", flush=True)
for step in count(0 if found is None else found[1]["step"] + 1):
    checkpoint.save(
        folder, {f"part{number}": torch.full((50, 200), float(step)) for number in range(4)}, {"step": step}
    )

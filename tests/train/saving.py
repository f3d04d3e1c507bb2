"""A program that saves checkpoint after checkpoint into the folder that it is given, until it is killed."""

import sys
from itertools import count
from pathlib import Path

import torch

from engnn.train import checkpoint

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found = checkpoint.load(folder)
    print("saving", flush=True)
    for step in count(0 if found is None else found[1]["step"] + 1):
        parts = {f"part{number}": torch.full((50, 200), float(step)) for number in range(4)}
        checkpoint.save(folder, parts, {"step": step})

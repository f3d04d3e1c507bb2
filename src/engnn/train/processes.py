"""One process, or those that torchrun started: each computes its share of a batch, and gradients are added up."""

from __future__ import annotations

import os

import torch
from torch import Tensor, distributed

from engnn.tasks.batch import Share


class Processes:
    """This process among all of them; a sum over one process is what it was."""

    def __init__(self) -> None:
        self.share = Share(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
        if self.several and not distributed.is_initialized():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    @property
    def several(self) -> bool:
        return self.share.world > 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.share.rank == 0

    def device(self, wanted: str) -> torch.device:
        """The device of this process."""
        if wanted == "auto":
            wanted = "cuda" if torch.cuda.is_available() else "cpu"
        if wanted == "cuda" and not torch.cuda.is_available():
            from engnn.errors import InputError

            raise InputError("train.device is cuda, but there is no CUDA device here: take cpu or auto")
        device = torch.device(wanted)
        if wanted == "cuda" and self.several:
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)  # whose stream events and messages between processes then use
        return device

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.several:
            distributed.all_reduce(tensor)
        return tensor

    def wait(self) -> None:
        """Until all processes are here."""
        if self.several:
            distributed.barrier()

"""What is asked of a model: batches, loss and metric. A task is a value; the loop that uses it is in `engnn.train`."""

from __future__ import annotations

from importlib import import_module

import torch

from engnn.data.dataset import Dataset
from engnn.tasks.task import Task


def task_of(dataset: Dataset, *, metric: str = "", device: torch.device | str = "cpu") -> Task:
    """The task of a dataset, from the module of that name here; `metric` replaces the dataset's own."""
    task: Task = import_module(f"engnn.tasks.{dataset.task}").TASK(dataset, metric=metric, device=torch.device(device))
    return task

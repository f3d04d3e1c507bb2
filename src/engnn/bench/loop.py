"""What the training loop costs beyond a bare forward pass, backward pass and step of the same model.

The bare step is what a user of torch would write: `zero_grad`, the model and its loss, `backward`, and a step of
`AdamW(model.parameters(), fused=True)`, the fastest that torch has for parameters as a model has them. It is given its
batch, made beforehand; noise is part of the forward pass in both. The loop makes each batch, sets the learning rate,
cuts the gradient, and looks at loss and gradient before each step; but it has its weights in one tensor
(`engnn.train.flat`), so that it may be the faster of the two.

Run it with `python -m engnn.bench.loop [--json]`. Blocks of both kinds of steps take turns, so that whatever else the
machine does meets both alike; what is told is the median over pairs of blocks, on a CPU of the process's own time.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import count, cycle
from typing import Any

import torch

from engnn.bench.machine import machine
from engnn.data.catalog import open_dataset
from engnn.tasks import task_of
from engnn.train.config import Config
from engnn.train.loop import Training
from engnn.train.models import answer, build
from engnn.train.options import default_recipe, make_config
from engnn.train.processes import Processes

DATA = ("counting-generated", "density-generated", "small-world", "karate")
BLOCKS, SECONDS = 75, 0.1  # of each kind, and about how long each block is to take


def overhead(data: str, *, device: str = "auto", blocks: int = BLOCKS, seconds: float = SECONDS) -> dict[str, Any]:
    """Seconds a step, of the loop and bare, under a dataset's own recipe."""
    dataset = open_dataset(data)
    config: Config = make_config(default_recipe(data, dataset.task)[1], {"data": data, "train.epochs": 1 << 20})
    task = task_of(dataset, device=Processes().device(device))
    with_loop = Training(task, config)
    model = build(config.model.name, with_loop.arguments).to(task.device)
    model.load_state_dict(with_loop.model.state_dict())
    optimizer = torch.optim.AdamW(
        model.parameters(), config.train.learning_rate, weight_decay=config.train.weight_decay, fused=True
    )
    batches, draws = cycle(list(with_loop.batches)), count()
    clock = _of_device if task.device.type == "cuda" else time.process_time

    def step() -> None:
        if with_loop.now.batch == len(with_loop.batches):
            with_loop.now.batch = 0
            with_loop.batches = with_loop.new_epoch()  # the same again, so that both kinds agree
        with_loop.step()

    def bare() -> None:
        batch = next(batches)
        optimizer.zero_grad()
        out = answer(model, batch, seed=0, draw=next(draws))
        assert batch.y is not None
        total, known = task.answer.loss(out, batch.y)
        (total / known).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    first = [(_timed(step, 3, clock), _timed(bare, 3, clock)) for _ in range(3)]  # both are at one batch from here on
    steps = max(1, int(seconds / min(of_bare for _, of_bare in first)))
    times = [(_timed(step, steps, clock), _timed(bare, steps, clock)) for _ in range(blocks)]
    loop_time, bare_time = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(one / other for one, other in times)
    return {
        "data": data,
        "device": str(task.device),
        "steps": steps * blocks,
        "seconds_a_step": loop_time,
        "bare": bare_time,
        "overhead": ratio - 1,
    }


def _timed(run: Callable[[], None], times: int, clock: Callable[[], float]) -> float:
    began = clock()
    for _ in range(times):
        run()
    return (clock() - began) / times


def _of_device() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Print the overhead for one dataset of each task."""
    found = [overhead(data) for data in DATA]
    if "--json" in sys.argv:
        print(json.dumps({"bench": "loop", **machine(), "rows": found}, indent=1))
        return
    for one in found:
        print(
            f"{one['data']:20} {1e3 * one['seconds_a_step']:8.2f} ms a step, bare {1e3 * one['bare']:8.2f} ms: "
            f"{one['overhead']:+.1%} over {one['steps']} steps on {one['device']}"
        )


if __name__ == "__main__":
    main()

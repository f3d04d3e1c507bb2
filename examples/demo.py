"""Count the 3-cycles and 4-cycles at each node of random graphs, with equivariant noise and without it.

Three models of one shape are trained alike on the same graphs: `engnn`; `mpnn`, in which the noise is replaced by zero;
and `nmpnn`, in which it is a node's plain features. The graphs are drawn here; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import sys
import time

from engnn.data.sources.counting import counting_graphs
from engnn.tasks import task_of
from engnn.train.answers import mean_answers
from engnn.train.config import Config, ModelConfig, TrainConfig
from engnn.train.loop import Training
from engnn.train.progress import Printed, duration

PATTERNS = ("3-cycle", "4-cycle")
VARIANTS = {"engnn": "equivariant noise", "mpnn": "no noise", "nmpnn": "noise as node features"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--graphs", type=int, default=400, help="graphs to train on; half as many are tested on")
    asked = parser.parse_args()
    dataset = counting_graphs(asked.graphs, asked.graphs // 8, asked.graphs // 2, patterns=PATTERNS)
    task = task_of(dataset)
    assert dataset.y_scale is not None
    print(f"{asked.graphs} random graphs. At each node: how many {'s and '.join(PATTERNS)}s?", file=sys.stderr)

    errors, began = {}, time.monotonic()
    for variant, words in VARIANTS.items():
        model = ModelConfig(variant=variant, layers=3, hidden=32, noise_channels=32, noise_dim=8, noise="onehot")
        config = Config(model=model, train=TrainConfig(epochs=asked.epochs, batch_size=16, learning_rate=5e-3))
        print(f"\n{variant} ({words})", file=sys.stderr)
        training, progress = Training(task, config), Printed(config, "error")
        training.fit(watch=progress)
        progress.end()
        answers = mean_answers(training.model, task, "test", size=64, seed=0, draws=config.draws).mean
        errors[variant] = ((answers - task.truth("test")).abs().mean(0) / dataset.y_scale[1]).tolist()

    print(f"\nMean absolute error on {asked.graphs // 2} graphs never seen, in standard deviations of the counts:\n")
    print(" " * 30 + "".join(f"{pattern:>12}" for pattern in PATTERNS))
    for variant, words in VARIANTS.items():
        print(f"{variant + ', ' + words:<30}" + "".join(f"{error:>12.4f}" for error in errors[variant]))
    times = [mpnn / engnn for engnn, mpnn in zip(errors["engnn"], errors["mpnn"], strict=True)]
    print(f"{'mpnn over engnn':<30}" + "".join(f"{ratio:>11.1f}×" for ratio in times))
    print(f"\ntrained in {duration(time.monotonic() - began)}")


if __name__ == "__main__":
    main()

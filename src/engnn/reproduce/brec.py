"""BREC: 400 pairs of graphs, each pair to be told apart by a model trained on relabelled copies of the two alone.

The protocol is the one that the benchmark ships (github.com/GraphPKU/BREC): 32 copies of each graph, embeddings of 16
numbers, cosine loss, and a statistic T² of the differences of the embeddings, which must be above 72.34 for the pair
and below it for as many copies of one graph alone (reliability).

72.34 is the 95% point of Hotelling's T², but the statistic that is shipped leaves out its factor 32, the number of
copies; and 400 tests at 5% would pass 20 equal pairs. So there is a second cut: the full T² at 5% / 400.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engnn.errors import Stopped
from engnn.reproduce.table import Run, Said, Stopping

if TYPE_CHECKING:
    from torch import Tensor

    from engnn.data.dataset import Dataset, Graphs
    from engnn.tasks.task import Task
    from engnn.train.config import Config

COPIES, WIDTH, PAIRS = 32, 16, 400
CUT, LEVEL = 72.34, 0.05
SAME = 1e-6  # two statistics nearer than this are one, which says that nothing was learnt
LEARNT = 0.01  # the loss at which training ends
RELABEL, ONE_OF_TWO = 7 << 40, 8 << 40  # streams of random words; see `engnn.tasks.task`


def cut(level: float) -> float:
    """The value that Hotelling's T² of 32 differences of 16 numbers exceeds with this probability, if all means are 0.

    It is 31 times a quantile of F(16, 16), whose distribution function is a polynomial in F / (1 + F).

    >>> round(cut(0.05), 2)
    72.34
    """
    low, high = 0.5, 1.0
    for _ in range(60):
        x = (low + high) / 2
        tail = sum(math.comb(15, j) * (1 - x) ** j * x ** (15 - j) for j in range(8, 16))
        low, high = (x, high) if tail > level else (low, x)
    return (COPIES - 1) * low / (1 - low)


def statistic(answers: Tensor) -> float:
    """T² as shipped (without the number of copies), of embeddings `[2 copies, 16]`, the two graphs in turn."""
    import torch

    differences = (answers[0::2] - answers[1::2]).T
    mean = differences.mean(1)
    return float(mean @ torch.linalg.pinv(torch.cov(differences)) @ mean)


def judged(pairs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many pairs of each category are told apart, under either cut, and how many fail in reliability.

    >>> judged([{"category": "basic", "t2": 80.0, "same": 0.5}, {"category": "basic", "t2": 5.0, "same": 0.5}])["basic"]
    {'pairs': 2, 'shipped': 1, 'shipped_unreliable': 0, 'corrected': 1, 'corrected_unreliable': 0}
    """
    found: dict[str, dict[str, int]] = {}
    keys = ("pairs", "shipped", "shipped_unreliable", "corrected", "corrected_unreliable")
    corrected = cut(LEVEL / PAIRS) / COPIES
    for pair in pairs:
        counts = found.setdefault(pair["category"], dict.fromkeys(keys, 0))
        apart = abs(pair["t2"] - pair["same"]) > SAME
        counts["pairs"] += 1
        for name, bound in (("shipped", CUT), ("corrected", corrected)):
            reliable = pair["same"] < bound
            counts[name] += apart and reliable and pair["t2"] > bound
            counts[f"{name}_unreliable"] += not reliable
    return found


def measured(run: Run, folder: Path, stopping: Stopping) -> Said:
    """Train on pair after pair; those that are done are in `pairs.jsonl`, and not done again."""
    import torch

    from engnn.reproduce.recipe import settings
    from engnn.train import durable
    from engnn.train.options import make_config
    from engnn.train.processes import Processes
    from engnn.train.record import hardware, peak_memory, revision, versions
    from engnn.train.run import opened, settled

    config = make_config(settings(run))
    dataset = opened(config)
    config = settled(config, dataset)
    device = Processes().device(config.train.device)
    with durable.storage(folder, 0):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pairs.jsonl"
    done = {pair["pair"]: pair for pair in map(_parsed, path.read_text().splitlines() if path.exists() else ()) if pair}
    for number in range(len(dataset.graphs) // 2):
        if number in done:
            continue
        if stopping():
            raise Stopped
        began = time.monotonic()
        torch.manual_seed(config.seed * PAIRS + number)
        pair = one_pair(dataset, number, config, device)
        done[number] = {"pair": number, **pair, "seconds": round(time.monotonic() - began, 3)}
        durable.append_line(path, json.dumps(done[number], allow_nan=False))
    pairs = [done[number] for number in sorted(done)]
    counts = judged(pairs)
    return {
        "dataset": dataset.name,
        "provenance": dataset.provenance,
        "task": "graph",
        "split": dataset.split_name,
        "model": config.model.name,
        "variant": config.model.variant,
        "config": asdict(config),
        "seed": config.seed,
        "metric": "pairs told apart",
        "higher_is_better": True,
        "scores": {"train": None, "valid": None, "test": sum(one["shipped"] for one in counts.values()) / len(pairs)},
        "categories": counts,
        "draws": config.draws,
        "epochs": config.train.epochs,
        "seconds": round(sum(pair["seconds"] for pair in pairs), 3),
        "peak_memory_bytes": peak_memory(device),
        "parameters": pairs[0]["parameters"],
        "hardware": hardware(device),
        "versions": versions(),
        "revision": revision(),
        "complete": True,
    }


def one_pair(dataset: Dataset, number: int, config: Config, device: Any) -> dict[str, Any]:
    """Train on copies of a pair, by the benchmark's own loop; the statistics of the pair and of one graph alone."""
    import torch
    from torch.nn.functional import cosine_embedding_loss

    from engnn.data.dataset import Dataset
    from engnn.data.draws import Draws
    from engnn.tasks import task_of
    from engnn.tasks.batch import WHOLE
    from engnn.tasks.task import EVERYTHING
    from engnn.train.answers import mean_answers
    from engnn.train.models import answer, arguments, build

    def task(graphs: Graphs) -> Task:
        names = tuple(map(str, range(WIDTH)))
        made = Dataset(name="brec", task="graph", metric="mae", provenance="original", graphs=graphs, outputs=names)
        return task_of(made, device=device)

    either = Draws(config.seed, ONE_OF_TWO + number).one(2)
    seed = config.seed * PAIRS + number
    pair = task(copies(dataset.graphs, [2 * number, 2 * number + 1], seed=seed))
    alone = task(copies(dataset.graphs, [2 * number + either] * 2, seed=seed))
    model = build(config.model.name, arguments(config.model, pair)).to(device)
    optimiser = torch.optim.Adam(model.parameters(), config.train.learning_rate, weight_decay=config.train.weight_decay)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser)
    batches = list(pair.part(EVERYTHING, config.train.batch_size, share=WHOLE))
    step = 0
    for _ in range(config.train.epochs):
        losses = []
        for batch in batches:
            optimiser.zero_grad()
            out = answer(model, batch, seed=seed, draw=step)
            loss = cosine_embedding_loss(out[0::2], out[1::2], out.new_full([len(out) // 2], -1))
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.item())
            step += 1
        if sum(losses) / len(losses) < LEARNT:
            break
        plateau.step(sum(losses) / len(losses))

    def embedded(task: Task) -> Tensor:
        size, draws = config.train.batch_size, config.draws
        return mean_answers(model, task, EVERYTHING, size=size, seed=seed, draws=draws).mean

    return {
        "category": dataset.ids[2 * number].partition("/")[0],
        "t2": statistic(embedded(pair)),
        "same": statistic(embedded(alone)),
        "parameters": sum(one.numel() for one in model.parameters()),
    }


def copies(graphs: Graphs, numbers: list[int], *, seed: int) -> Graphs:
    """32 copies of each of two graphs, in turn, the nodes of each in another order."""
    import torch

    from engnn.data.dataset import Graphs
    from engnn.data.draws import Draws

    sizes, counts, edges = [], [], []
    for copy in range(COPIES):
        for side, number in enumerate(numbers):
            nodes = int(graphs.num_nodes[number])
            order = torch.from_numpy(Draws(seed, RELABEL + 2 * copy + side).order(nodes))
            own = graphs.edge_index[:, graphs.edge_ptr[number] : graphs.edge_ptr[number + 1]]
            sizes.append(nodes)
            counts.append(own.size(1))
            edges.append(order[own.long()])
    return Graphs(torch.tensor(sizes), torch.tensor(counts), torch.cat(edges, dim=1))


def page(found: Mapping[str, Sequence[Said]]) -> list[str]:
    """BREC by category: pairs told apart under either cut, and failures in reliability."""
    rows = {name: records for name, records in found.items() if name.startswith("brec/")}
    if not rows:
        return []
    lines = [
        f"BREC by category: pairs told apart (and in brackets failures in reliability, which do not count), means over "
        f"seeds. *Shipped* is T² without the number of copies above {CUT}; *corrected* is the full T² above "
        f"{cut(LEVEL / PAIRS):.1f}, which is {LEVEL:.0%} divided by {PAIRS}.",
        "",
        "| model | draws | category | pairs | shipped | corrected |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for name, records in rows.items():
        categories = [*records[0]["categories"], "all"]
        for category in categories:

            def mean(key: str, category: str = category, records: Sequence[Said] = records) -> float:
                chosen: list[int] = [
                    sum(counts[key] for one, counts in said["categories"].items() if category in (one, "all"))
                    for said in records
                ]
                return sum(chosen) / len(chosen)

            shown = [f"{mean(key):.1f} ({mean(f'{key}_unreliable'):.1f})" for key in ("shipped", "corrected")]
            model = name.partition("/")[2]
            lines.append(
                f"| {model} | {records[0]['draws']} | {category} | {mean('pairs'):.0f} | {' | '.join(shown)} |"
            )
    return lines


def _parsed(line: str) -> dict[str, Any]:
    """A line of `pairs.jsonl`; nothing where a process died while it wrote."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}

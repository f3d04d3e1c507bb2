"""Who may be learnt from, chosen by and tested on: seeded splits of targets and of links, and the audit of any split.

Every choice is a pure function of the seed, the same on every machine (see `engnn.data.draws`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np
import torch
from torch import Tensor

from engnn.data.dataset import PARTS, Dataset, Links
from engnn.data.draws import Draws
from engnn.data.pairs import Ints, among, decoded, distinct, encoded
from engnn.errors import InputError

Fractions = tuple[float, float, float]
TARGETS, EDGES, NEGATIVES = range(3)  # one independent stream of random words for each purpose
OFFICIAL: Final = "official"  # the name of a benchmark's own split of links: its leaks are told, not mended
DENSE: Final = 4  # below this many pairs for each pair that is taken, non-edges are listed rather than drawn


def random_split(
    targets: int | Tensor,
    fractions: Fractions = (0.6, 0.2, 0.2),
    *,
    seed: int,
    labels: Tensor | None = None,
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Deal the targets (ids, or how many there are) out to train, valid and test; and say in words what was done.

    Sizes are by largest remainder: the whole parts of the shares, what is left over to the parts with the largest
    fractions cut off (the earlier part in a tie), and never an empty part. With `labels` (`[T]` classes of these
    targets) each class is dealt out by itself, so that the sizes hold within each class; a class too small for three
    parts goes to train first, then to test.

    >>> split, _ = random_split(10, seed=0)
    >>> {part: len(ids) for part, ids in split.items()}
    {'train': 6, 'valid': 2, 'test': 2}
    """
    ids = torch.arange(targets) if isinstance(targets, int) else targets.long()
    if len(ids) < len(PARTS):
        raise InputError(
            f"{len(ids)} targets cannot be split into {', '.join(PARTS)}: at least {len(PARTS)} are needed"
        )
    order = torch.from_numpy(Draws(seed, TARGETS).order(len(ids)))
    if labels is None:
        sizes = _sizes(len(ids), fractions)
        dealt = list(torch.split(order, sizes))
        notes = [f"random split with seed {seed}: {_shares(fractions)} of {len(ids)} targets"]
    else:
        if labels.shape != ids.shape:
            raise InputError(
                f"labels {tuple(labels.shape)} to stratify by do not fit {len(ids)} targets: give one each"
            )
        dealt, tiny = _stratified(order, labels, fractions)
        notes = [f"random split with seed {seed}: {_shares(fractions)} of {len(ids)} targets, within each class", *tiny]
    for part, places in zip(PARTS, dealt, strict=True):
        if not len(places):
            raise InputError(f"no class has enough targets to give {part} any: split without stratification")
    return {part: ids[places].sort().values for part, places in zip(PARTS, dealt, strict=True)}, tuple(notes)


def link_split(
    num_nodes: int,
    edges: Tensor,
    fractions: Fractions = (0.7, 0.1, 0.2),
    *,
    seed: int,
    negatives: float = 1.0,
) -> Links:
    """Deal the edges out to train, valid and test, and draw `negatives` non-edges for each valid and test edge.

    The split is of undirected pairs: both directions of an edge are one, and self-loops are left out. Negatives are
    pairs that no part has an edge between, all different, none shared by valid and test.

    >>> links = link_split(6, torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]), (0.6, 0.2, 0.2), seed=0)
    >>> links.train.size(1), links.valid.size(1), links.test_negatives.size(1)
    (3, 1, 1)
    """
    if not negatives > 0:
        raise InputError(
            f"negatives={negatives}: a link is told from a non-link only where there are some; give 1 or more"
        )
    known = _edges(num_nodes, edges)
    if len(known) < len(PARTS):
        raise InputError(
            f"{len(known)} edges (undirected, without self-loops) cannot be split into {', '.join(PARTS)}: "
            f"at least {len(PARTS)} are needed"
        )
    ends = np.cumsum(_sizes(len(known), fractions))[:-1]
    train, valid, test = (known[np.sort(part)] for part in np.split(Draws(seed, EDGES).order(len(known)), ends))
    wanted = [int(np.ceil(negatives * len(part))) for part in (valid, test)]
    for_valid, for_test = np.split(_non_edges(num_nodes, known, sum(wanted), seed), wanted[:1])
    return Links(*(_pairs(num_nodes, codes) for codes in (train, valid, for_valid, test, for_test)))


def non_edges(num_nodes: int, edges: Tensor, count: int, *, seed: int) -> Tensor:
    """`count` different pairs of different nodes that `edges` does not join in either direction: `[2, count]`.

    >>> non_edges(3, torch.tensor([[0, 2], [1, 1]]), 1, seed=0).tolist()
    [[0], [2]]
    """
    return _pairs(num_nodes, _non_edges(num_nodes, _edges(num_nodes, edges), count, seed))


def undirected(num_nodes: int, edge_index: Tensor) -> Tensor:
    """Each pair once, the smaller id first, in order, without self-loops.

    >>> undirected(3, torch.tensor([[2, 0, 1, 1], [0, 2, 1, 0]])).tolist()
    [[0, 0], [1, 2]]
    """
    return _pairs(num_nodes, _edges(num_nodes, edge_index))


def split_parts(dataset: Dataset) -> dict[str, Tensor]:
    """The targets of each part, or the links of each and the negatives of `valid` and `test`: what a run should keep.

    Negatives of each link by itself, which only benchmarks publish, are left out.
    """
    links = dataset.links
    if links is None:
        return dict(dataset.split)
    negatives = {"valid_negatives": links.valid_negatives, "test_negatives": links.test_negatives}
    shared = {name: pairs for name, pairs in negatives.items() if pairs.dim() == 2}
    return {"train": links.train, "valid": links.valid, "test": links.test} | shared


def split_digest(dataset: Dataset) -> str:
    """The SHA-256 of a split, by which two runs can tell that theirs are the same ("" where there is none).

    >>> from engnn.data.catalog import open_dataset
    >>> split_digest(open_dataset("karate"))[:8]
    '75e2110b'
    """
    found = hashlib.sha256()
    for name, ids in sorted(split_parts(dataset).items()):
        found.update(json.dumps([name, list(ids.shape)]).encode())
        found.update(ids.numpy().astype("<i8").tobytes())
    return found.hexdigest() if split_parts(dataset) else ""


def audit_split(dataset: Dataset) -> None:
    """Raise `InputError` unless train, valid and test are non-empty sets of targets that share none.

    A named dataset with neither labels nor a split is there to be told apart, not to learn from, and passes.
    """
    if dataset.links is not None:
        return audit_links(dataset)
    if dataset.y is None and not dataset.split and dataset.provenance != "own":
        return None
    return _report(dataset, tuple(_split_faults(dataset)))


def audit_links(dataset: Dataset) -> None:
    """Raise `InputError` where a held-out link, or a negative, is known beforehand in any way (see `link_leaks`)."""
    return _report(dataset, link_leaks(dataset))


def link_leaks(dataset: Dataset) -> tuple[str, ...]:
    """Every leak of a link split, in words; published splits may have some, and then say so.

    Looked for: an edge of the graph that is not a training link; a link in two parts; a link twice in one part; a
    negative that is a link, a self-pair, repeated, or in both valid and test; a message for the test that is a link
    to be found.
    """
    return tuple(_link_faults(dataset))


def _report(dataset: Dataset, faults: tuple[str, ...]) -> None:
    if faults:
        raise InputError(
            f"{dataset.name}, split {dataset.split_name!r}: {'; '.join(faults)}. Mend the split, or draw one"
        )


def _split_faults(dataset: Dataset) -> Iterator[str]:
    count = {
        "node": int(dataset.graphs.node_ptr[-1]),
        "graph": len(dataset.graphs),
        "subgraph": 0 if dataset.members is None else len(dataset.members),
        "link": 0,
    }[dataset.task]
    if dataset.y is not None and len(dataset.y) != count:
        yield f"there are {count} targets and {len(dataset.y)} labels"
    for name in dataset.split.keys() - set(PARTS):
        yield f"{name!r} is not one of {', '.join(PARTS)}"
    parts = {part: dataset.split[part].numpy() for part in PARTS if part in dataset.split}
    for part in PARTS:
        if part not in parts or not len(parts[part]):
            yield f"{part} is empty"
    for part, ids in parts.items():
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < count:
            yield f"{part} names a target outside 0 to {count - 1}"
        if len(once := distinct(ids)) < len(ids):
            yield f"{part} has {len(ids) - len(once)} targets twice"
    for one, other in combinations(parts, 2):
        if shared := int(among(parts[one], np.sort(parts[other])).sum()):
            yield f"{one} and {other} share {shared} targets"


def _link_faults(dataset: Dataset) -> Iterator[str]:
    links = dataset.links
    if links is None:
        yield "it has no links"
        return
    num_nodes = int(dataset.graphs.node_ptr[-1])
    positives = {"train": links.train, "valid": links.valid, "test": links.test}
    negatives = {"valid": links.valid_negatives, "test": links.test_negatives}
    named = {f"{part} links": pairs for part, pairs in positives.items()}
    named |= {f"{part} negatives": pairs.flatten(1) for part, pairs in negatives.items()}
    for name, pairs in named.items():
        if not pairs.numel():
            yield f"there are no {name}"
        elif not 0 <= int(pairs.min()) <= int(pairs.max()) < num_nodes:
            yield f"{name} name a node outside 0 to {num_nodes - 1}"
            return
        if loops := int((pairs[0] == pairs[1]).sum()):
            yield f"{name} hold {loops} pairs of a node with itself"

    codes = {name: encoded(pairs.numpy(), num_nodes) for name, pairs in named.items()}
    known = {name: distinct(of) for name, of in codes.items()}
    for name in codes:
        ranked = name.endswith("negatives") and negatives[name.split()[0]].dim() == 3
        if not ranked and (twice := len(codes[name]) - len(known[name])):
            yield f"{name} hold {twice} pairs twice"
    exclusive = [*combinations([name for name in named if name.endswith("links")], 2)]
    exclusive += [
        (negative, link) for negative in named for link in named if "negatives" in negative and "links" in link
    ]
    if links.valid_negatives.dim() == links.test_negatives.dim() == 2:
        exclusive.append(("valid negatives", "test negatives"))
    for one, other in exclusive:
        if shared := int(among(known[one], known[other]).sum()):
            yield f"{one} and {other} share {shared} pairs"

    graph = _edges(num_nodes, dataset.graphs.edge_index)
    if foreign := int((~among(graph, known["train links"])).sum()):
        yield f"the graph holds {foreign} edges that are not training links"
    if links.test_message is not None:
        message = _edges(num_nodes, links.test_message)
        allowed = distinct(np.concatenate([known["train links"], known["valid links"]]))
        if foreign := int((~among(message, allowed)).sum()):
            yield f"the messages of the test hold {foreign} edges that are neither training nor validation links"


def _stratified(order: Tensor, labels: Tensor, fractions: Fractions) -> tuple[list[Tensor], list[str]]:
    by_class = order[torch.sort(labels[order], stable=True).indices]
    kinds, counts = torch.unique(labels, return_counts=True)
    dealt: list[list[Tensor]] = [[], [], []]
    notes = []
    for kind, places in zip(kinds.tolist(), torch.split(by_class, counts.tolist()), strict=True):
        if len(places) < len(PARTS):
            given = "train" if len(places) == 1 else "train and one in test"
            notes.append(f"class {kind} has only {len(places)} target(s): one is in {given}, none in the rest")
        for part, some in zip(dealt, torch.split(places, _sizes(len(places), fractions)), strict=True):
            part.append(some)
    return [torch.cat(part) for part in dealt], notes


def _sizes(count: int, fractions: Fractions) -> list[int]:
    if min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise InputError(f"split fractions {fractions} must be above 0 and add up to 1")
    if count < len(PARTS):
        return [1, 0, count - 1]
    shares = [round(count * fraction, 6) for fraction in fractions]
    sizes = [int(share) for share in shares]
    by_remainder = sorted(range(len(PARTS)), key=lambda part: (sizes[part] - shares[part], part))
    for part in by_remainder[: count - sum(sizes)]:
        sizes[part] += 1
    while 0 in sizes:
        sizes[sizes.index(max(sizes))] -= 1
        sizes[sizes.index(0)] += 1
    return sizes


def _shares(fractions: Fractions) -> str:
    return "/".join(f"{100 * fraction:g}" for fraction in fractions)


def _edges(num_nodes: int, edge_index: Tensor) -> Ints:
    """Codes of the undirected edges, each once and without self-loops, in ascending order."""
    ends = edge_index.numpy()
    if ends.size and not 0 <= ends.min() <= ends.max() < num_nodes:
        wrong = ends[(ends < 0) | (ends >= num_nodes)][0]
        raise InputError(f"an edge names node {wrong}, but nodes are numbered 0 to {num_nodes - 1}: mend the edge")
    return distinct(encoded(ends[:, ends[0] != ends[1]], num_nodes))


def _non_edges(num_nodes: int, known: Ints, count: int, seed: int) -> Ints:
    """Codes of `count` different pairs, uniformly among those not in `known` (sorted), in random order."""
    pairs = num_nodes * (num_nodes - 1) // 2
    if pairs - len(known) < count:
        raise InputError(
            f"{count} negatives are needed, but only {pairs - len(known)} of the {pairs} pairs of nodes have no edge: "
            "the graph is (nearly) complete; ask for fewer negatives, or use another task"
        )
    if pairs <= DENSE * (len(known) + count):
        every = encoded(np.stack(np.triu_indices(num_nodes, 1)), num_nodes)
        free = every[~among(every, known)]
        return free[Draws(seed, NEGATIVES).order(len(free))[:count]]
    draws = Draws(seed, NEGATIVES)
    drawn = known[:0]
    while len(drawn) < count:
        first, second = np.divmod(draws.below(num_nodes**2, 2 * (count - len(drawn)) + 16), num_nodes)
        codes = encoded(np.stack([first, second])[:, first != second], num_nodes)
        drawn = np.concatenate([drawn, codes[~among(codes, known)]])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:count]


def _pairs(num_nodes: int, codes: Ints) -> Tensor:
    return torch.from_numpy(decoded(codes, num_nodes))

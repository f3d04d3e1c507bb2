"""Which links are to be found: those of a table, or some of the graph's own edges."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engnn.data.columns import texts
from engnn.data.dataset import PARTS, Links
from engnn.data.own.labels import Bools, parts
from engnn.data.own.nodes import Nodes
from engnn.data.own.table import Table
from engnn.data.pairs import Ints, among, decoded, distinct, encoded
from engnn.data.splits import Fractions, link_split, non_edges, random_split
from engnn.errors import InputError

Pairs = NDArray[np.int64]  # [2, p]


def split_edges(pairs: Pairs, num_nodes: int, fractions: Fractions, seed: int, where: str) -> tuple[Links, list[str]]:
    """The edges themselves dealt out, with as many drawn negatives to find them among."""
    try:
        links = link_split(num_nodes, torch.from_numpy(pairs), fractions, seed=seed)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    shares = "/".join(f"{100 * share:g}" for share in fractions)
    return links, [f"random split of the edges with seed {seed}: {shares}; one negative drawn for each held-out edge"]


def read_pairs(table: Table, nodes: Nodes) -> Pairs:
    """The pairs that a table of links names, in its order."""
    pairs = np.stack([nodes.find(table, "source"), nodes.find(table, "target")])
    loops = np.flatnonzero(pairs[0] == pairs[1])
    if len(loops):
        row = int(loops[0])
        raise InputError(
            f"{table.place(row)}: the link joins {nodes.ids[pairs[0, row]]!r} with itself: take it out, or mend it"
        )
    return pairs


def split_table(table: Table, nodes: Nodes, edges: Pairs, fractions: Fractions, seed: int) -> tuple[Links, list[str]]:
    """The links of a table. Every edge that is not held out is a training link too."""
    num_nodes = len(nodes.ids)
    pairs = read_pairs(table, nodes)
    positive, part = _positives(table), parts(table)
    codes, known = encoded(pairs, num_nodes), distinct(encoded(edges, num_nodes))
    of_row = np.full(table.rows, "", dtype="<U5")
    for name, mask in (part or {}).items():
        of_row[mask] = name
    if part is not None and (of_row == "").any():
        row = int(np.flatnonzero(of_row == "")[0])
        raise InputError(f"{table.place(row)}: split is blank: give train, valid or test to every link, or to none")
    _check_repeats(table, codes, positive, of_row)
    joined = np.flatnonzero(~positive & among(codes, known))
    if len(joined):
        row = int(joined[0])
        ends = " and ".join(repr(nodes.ids[end]) for end in pairs[:, row])
        raise InputError(
            f"{table.place(row)}: label 0 says that there is no link between {ends}, and edges.csv has one: mend one"
        )

    notes: list[str] = []
    once = np.zeros(table.rows, dtype=bool)
    once[np.unique(codes, return_index=True)[1]] = True
    if not once.all():
        notes.append(f"{int((~once).sum())} repeated link(s) merged")
    yes, no = once & positive, once & ~positive
    if part is None:
        found, told = _drawn(table, yes, fractions, seed)
        negatives = _in_thirds(no, seed)
        notes += told
    else:
        found, negatives = {name: yes & mask for name, mask in part.items()}, {name: no & part[name] for name in PARTS}
        notes.append("split as the files say")
        if count := int(negatives["train"].sum()):
            notes.append(
                f"{count} training link(s) with label 0 not used: training negatives are drawn anew each epoch"
            )
    held_out = np.concatenate([codes[found["valid"]], codes[found["test"]]])
    rest = known[~among(known, np.sort(held_out))]
    if len(rest) < len(known):
        notes.append(f"{len(known) - len(rest)} held-out link(s) taken out of the graph")
    learnt = distinct(np.concatenate([rest, codes[found["train"]]]))
    counts = {"train": len(learnt), "valid": int(found["valid"].sum()), "test": int(found["test"].sum())}
    for name, count in counts.items():
        if not count:
            raise InputError(f"{table.name}: there is no link (label 1) in {name!r}: each part needs one at the least")
    wanted = {name: 0 if negatives[name].any() else counts[name] for name in ("valid", "test")}
    drawn = _drawn_negatives(table, num_nodes, np.concatenate([codes, known]), wanted, seed)
    if any(wanted.values()):
        notes.append(
            f"one negative drawn with seed {seed} for each link of: {', '.join(k for k in wanted if wanted[k])}"
        )
    given = {name: drawn[name] if wanted[name] else _pairs(codes[negatives[name]], num_nodes) for name in wanted}
    return Links(
        train=_pairs(learnt, num_nodes),
        valid=_pairs(codes[found["valid"]], num_nodes),
        valid_negatives=given["valid"],
        test=_pairs(codes[found["test"]], num_nodes),
        test_negatives=given["test"],
    ), notes


def in_training(edges: Pairs, links: Links, num_nodes: int) -> Bools:
    """Which of the edges are training links, and so may be in the graph."""
    return among(encoded(edges, num_nodes), np.sort(encoded(links.train.numpy(), num_nodes)))


def _positives(table: Table) -> Bools:
    if "label" not in table.columns:
        return np.ones(table.rows, dtype=bool)
    labels = texts(table.columns["label"])
    for row, label in enumerate(labels):
        if label not in ("0", "1"):
            raise InputError(
                f"{table.place(row)}: label {label!r} must be 1 (a link) or 0 (none); leave the column out where all "
                "are links"
            )
    return np.array([label == "1" for label in labels], dtype=bool)


def _check_repeats(table: Table, codes: Ints, positive: Bools, part: NDArray[np.str_]) -> None:
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    before = first[inverse]
    differ = np.flatnonzero((positive != positive[before]) | (part != part[before]))
    if len(differ):
        row = int(differ[0])
        raise InputError(
            f"{table.place(row)}: the same link as {table.place(int(before[row]))} with another label or split (links "
            "have no direction): take one of them out"
        )


def _drawn(table: Table, yes: Bools, fractions: Fractions, seed: int) -> tuple[dict[str, Bools], list[str]]:
    rows = np.flatnonzero(yes)
    try:
        split, told = random_split(torch.from_numpy(rows), fractions, seed=seed)
    except InputError as error:
        raise InputError(f"{table.name}: too few links: {error}") from error
    return {name: _mask(targets, len(yes)) for name, targets in split.items()}, list(told)


def _in_thirds(no: Bools, seed: int) -> dict[str, Bools]:
    """Given negatives are for finding the links among: a third for valid, the rest for test, none to learn from."""
    rows = np.flatnonzero(no)
    none = np.zeros_like(no)
    if len(rows) < len(PARTS):
        return dict.fromkeys(PARTS, none)
    split, _ = random_split(torch.from_numpy(rows), (1 / 3, 1 / 3, 1 / 3), seed=seed)
    return {"train": none, "valid": _mask(split["valid"], len(no)), "test": ~_mask(split["valid"], len(no)) & no}


def _drawn_negatives(table: Table, num_nodes: int, taken: Ints, wanted: dict[str, int], seed: int) -> dict[str, Tensor]:
    try:
        drawn = non_edges(num_nodes, _pairs(taken, num_nodes), sum(wanted.values()), seed=seed)
    except InputError as error:
        raise InputError(f"{table.name}: {error}, or give links with label 0") from error
    return dict(zip(wanted, torch.split(drawn, list(wanted.values()), dim=1), strict=True))


def _mask(rows: Tensor, count: int) -> Bools:
    mask = np.zeros(count, dtype=bool)
    mask[rows.numpy()] = True
    return mask


def _pairs(codes: Ints, num_nodes: int) -> Tensor:
    return torch.from_numpy(decoded(codes, num_nodes))

"""The four real subgraph data sets of SubGNN: who is in which group is here, the graph they live in must be added."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import numpy as np
import torch

from engnn.data.dataset import PARTS, Dataset, Members, offsets
from engnn.data.draws import Array
from engnn.data.files import MissingFile
from engnn.data.source import File, Request, Source
from engnn.data.undirected import undirected
from engnn.errors import InputError

PUBLISHED = "https://www.dropbox.com/sh/zv7gw2bqzqev9yn/AACR9iR4Ok7f9x1fIAiVCdj3a"
WRITTEN = {"train": "train", "val": "valid", "test": "test"}


def _edges(path: Path, nodes: int) -> tuple[int, Array]:
    """The node count, at least `nodes`, and the edges of a list of pairs, each once and without self-loops."""
    pairs = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if words and not (len(words) >= 2 and words[0].isdecimal() and words[1].isdecimal()):
                raise InputError(f"{path}, line {number}: {line.strip()!r} is not two node numbers; mend the line")
            pairs += [(int(words[0]), int(words[1]))] if words else []
    if not pairs:
        raise InputError(f"{path} has no edges: one is expected on each line, as two node numbers")
    ends = np.sort(np.array(pairs).T, axis=0)
    return max(nodes, int(ends.max()) + 1), np.unique(ends[:, ends[0] != ends[1]], axis=1)


def _open(name: str, request: Request) -> Dataset:
    with gzip.open(request.file(_groups(name).path), "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    groups = [np.array(members.split("-"), dtype=np.int64) for members, _, _ in rows]
    try:
        path = request.file(_graph(name).path)
    except MissingFile as missing:
        raise MissingFile(
            f"{name} needs its base graph, which SubGNN publishes as edge_list.txt and of which no copy could be "
            f"had: only its {len(groups)} subgraphs are here. {missing}"
        ) from missing
    nodes, edges = _edges(path, max(int(group.max()) for group in groups) + 1)
    multilabel = name == "hpo_neuro"
    labels = [label.split("-") if multilabel else [label] for _, label, _ in rows]
    classes = sorted({label for some in labels for label in some})
    answers = torch.tensor([[float(known in some) for known in classes] for some in labels])
    parts = [WRITTEN[part] for _, _, part in rows]
    split = {part: torch.tensor([i for i, own in enumerate(parts) if own == part]) for part in PARTS}
    swapped = len(split["valid"]) < len(split["test"])
    return Dataset(
        name=name,
        task="subgraph",
        metric="micro_f1",
        provenance="original",
        graphs=undirected(np.array([nodes]), np.array([edges.shape[1]]), edges),
        y=answers if multilabel else answers.argmax(1),
        split=split,
        split_name="fixed",
        members=Members(
            offsets(torch.tensor([len(group) for group in groups])), torch.from_numpy(np.concatenate(groups))
        ),
        classes=() if multilabel else tuple(classes),
        outputs=tuple(classes) if multilabel else (),
        multilabel=multilabel,
        notes=(
            "the file's own split; GLASS swaps valid and test where valid is the smaller"
            + (", as it is here: its valid is this test, and its test this valid" if swapped else " (not so here)"),
        ),
    )


def _groups(name: str) -> File:
    return File(f"subgraph/{name}.subgraphs.tsv.gz", DIGESTS[name])


def _graph(name: str) -> File:
    return File(f"subgraph/{name}/edge_list.txt", url=PUBLISHED)


DIGESTS = {
    "ppi_bp": "2c4d57bb34a0708a134b065dbdc9bd73b304e9db7e2903e7c4919da4b2599a88",
    "hpo_metab": "ba02610990a68c7bef3d3d8f96495b3e34a3e4937ca790a88204b12fe3e34fae",
    "hpo_neuro": "1c19d576c754906989ea5c6cb87b3fcd33023760718e5af158a5d2421d2bd27c",
    "em_user": "7ec9b47953949c236146757e90c2c2b9442f9f26d099c3372f0df4e45bfe951e",
}
SUMMARIES = {
    "ppi_bp": "1,591 groups of proteins, by the process that they serve (6 classes)",
    "hpo_metab": "2,400 sets of symptoms, by the metabolic disease (6 classes)",
    "hpo_neuro": "4,000 sets of symptoms, by the neurological diseases (10 labels)",
    "em_user": "324 users by the workouts that they did (2 classes)",
}
SOURCES = tuple(
    Source(
        name=name,
        tasks=("subgraph",),
        splits=("fixed",),
        metric={"subgraph": "micro_f1"},
        provenance="original",
        load=partial(_open, name),
        files=(_groups(name), _graph(name)),
        licence="MIT (SubGNN)",
        source="SubGNN, memberships as kept by github.com/JhuoW/SubEmb",
        summary=f"{summary}; the base graph is missing and must be put beside",
    )
    for name, summary in SUMMARIES.items()
)

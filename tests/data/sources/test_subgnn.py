from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engnn.data.dataset import PARTS, Dataset
from engnn.data.files import MissingFile
from engnn.data.source import Request
from engnn.data.sources.subgnn import SOURCES
from engnn.data.splits import audit_split
from engnn.errors import InputError

SOURCE = {source.name: source for source in SOURCES}
EDGES = "0 1\n1 0\n1 2\n2 2\n\n2 3\n"


def put(root: Path, name: str, groups: str, edges: str | None = EDGES) -> Dataset:
    """A made dataset, read from files where the real ones would lie."""

    def file(path: str) -> Path:
        if not (root / path).is_file():
            raise MissingFile(f"{path} is not here. Put it there")
        return root / path

    (root / "subgraph" / name).mkdir(parents=True)
    (root / f"subgraph/{name}.subgraphs.tsv.gz").write_bytes(gzip.compress(groups.encode()))
    if edges is not None:
        (root / f"subgraph/{name}/edge_list.txt").write_text(edges)
    return SOURCE[name].load(Request(task="subgraph", file=file))


@pytest.mark.parametrize("name", ["ppi_bp", "hpo_metab", "hpo_neuro", "em_user"])
def test_a_missing_base_graph_is_told_with_where_it_goes(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingFile, match=rf"{name} needs its base graph.* 1 subgraphs.*{name}/edge_list.txt is not"):
        put(tmp_path, name, "0-1\tA\ttrain\n", edges=None)


def test_with_its_base_graph_a_dataset_is_read(tmp_path: Path) -> None:
    dataset = put(tmp_path, "ppi_bp", "0-1\tA\ttrain\n4-2\tB\tval\n3-1-0\tA\ttest\n2\tB\ttest\n")
    audit_split(dataset)
    graphs = dataset.graphs
    assert graphs.num_nodes.tolist() == [5]  # node 4 is in a subgraph, and has no edge
    assert sorted(graphs.edge_index.T.tolist()) == [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    assert dataset.members is not None
    assert dataset.members.select(torch.tensor([2, 1]))[0].tolist() == [3, 1, 0, 4, 2]
    assert dataset.classes == ("A", "B")
    assert dataset.y is not None
    assert dataset.y.tolist() == [0, 1, 0, 1]
    assert {part: ids.tolist() for part, ids in dataset.split.items()} == {"train": [0], "valid": [1], "test": [2, 3]}
    assert "its valid is this test" in dataset.notes[0]


def test_where_valid_is_the_larger_nothing_is_swapped(tmp_path: Path) -> None:
    dataset = put(tmp_path, "em_user", "0\tA\ttrain\n1\tB\tval\n2\tA\tval\n3\tA\ttest\n")
    assert "not so here" in dataset.notes[0]


def test_several_diseases_are_several_labels(tmp_path: Path) -> None:
    dataset = put(tmp_path, "hpo_neuro", "0-1\tX-Z\ttrain\n1-2\tY\tval\n3\tX-Y-Z\ttest\n")
    assert dataset.multilabel
    assert dataset.outputs == ("X", "Y", "Z")
    assert dataset.classes == ()
    assert dataset.y is not None
    assert dataset.y.tolist() == [[1, 0, 1], [0, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("edges", "said"),
    [("0 1\n1 two\n", r"line 2: '1 two' is not two node"), ("3\n", r"line 1: '3' is not two"), ("\n", "has no edges")],
)
def test_a_base_graph_that_is_no_list_of_edges_is_told(tmp_path: Path, edges: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        put(tmp_path, "ppi_bp", "0-1\tA\ttrain\n", edges=edges)


@pytest.mark.parametrize(
    ("name", "sizes", "classes"),
    [
        ("ppi_bp", [1272, 159, 160], 6),
        ("hpo_metab", [1921, 244, 235], 6),
        ("hpo_neuro", [3204, 400, 396], 10),
        ("em_user", [226, 49, 49], 2),
    ],
)
def test_the_memberships_that_are_here_have_the_published_counts(
    data_root: Path, tmp_path: Path, name: str, sizes: list[int], classes: int
) -> None:
    packed = data_root / f"subgraph/{name}.subgraphs.tsv.gz"
    if not packed.is_file():
        pytest.skip(f"data: {name} is not here")
    dataset = put(tmp_path, name, gzip.decompress(packed.read_bytes()).decode())
    assert [len(dataset.split[part]) for part in PARTS] == sizes
    assert len(dataset.classes or dataset.outputs) == classes
    assert dataset.y is not None
    assert dataset.multilabel == (name == "hpo_neuro")
    assert int(dataset.y.sum(dim=1).min() if dataset.multilabel else torch.bincount(dataset.y).min()) > 0


def test_a_base_graph_that_was_put_there_is_used(open_or_skip: Callable[..., Dataset]) -> None:
    dataset = open_or_skip("ppi_bp")
    assert len(dataset.graphs) == 1
    assert dataset.graphs.num_edges.item() > 0

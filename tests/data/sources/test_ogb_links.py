"""The Open Graph Benchmark's layout, on small files made here; and ogbl-ddi, where it is here."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engnn.data.catalog import describe, open_dataset
from engnn.data.dataset import Dataset, Links
from engnn.data.files import MissingFile
from engnn.data.sources.ogb_links import Layout, read_graph, read_links
from engnn.data.splits import link_leaks
from engnn.errors import InputError

Open = Callable[..., Dataset]

PLAIN = Layout(folder="tiny", split="time", features=3)
RANKED = Layout(folder="tiny", split="time", ranked=True)
SIZE = 6
EDGES = [[0, 1], [1, 2], [2, 1], [3, 4], [1, 0], [2, 2]]  # two pairs twice, one self-loop
FEATURES = [[row + column / 4 for column in range(3)] for row in range(SIZE)]


def table(path: Path, rows: list[list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(",".join(map(str, row)) + "\n" for row in rows).encode()))


def pt(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(value, path)


def plain(root: Path, layout: Layout = PLAIN, features: list[list[float]] = FEATURES) -> Path:
    """A whole dataset, with arrays and tensors in its splits as both are published."""
    table(root / layout.raw("num-node-list"), [[SIZE]])
    table(root / layout.raw("num-edge-list"), [[len(EDGES)]])
    table(root / layout.raw("edge"), EDGES)
    if layout.features:
        table(root / layout.raw("node-feat"), features)
    year, weight = torch.tensor([2018, 2018]), torch.tensor([1, 2])
    pt(root / layout.part("train"), {"edge": np.array(EDGES), "year": np.full(6, 2017), "weight": np.ones(6)})
    pt(
        root / layout.part("valid"),
        {
            "edge": torch.tensor([[0, 1], [5, 0]]),
            "edge_neg": torch.tensor([[0, 3], [0, 4], [5, 4]]),
            "year": year,
            "weight": weight,
        },
    )
    pt(root / layout.part("test"), {"edge": np.array([[4, 5]]), "edge_neg": np.array([[1, 5], [2, 5]])})
    return root


def ranked(root: Path) -> Path:
    plain(root, RANKED)
    pt(root / RANKED.part("train"), {"source_node": np.array([0, 1, 3]), "target_node": np.array([1, 2, 4])})
    for part, source, target in (("valid", [5, 4], [0, 0]), ("test", [4, 3], [5, 5])):
        negatives = np.array([[1, 2, 3], [2, 1, 2]])
        pt(
            root / RANKED.part(part),
            {"source_node": np.array(source), "target_node": np.array(target), "target_node_neg": negatives},
        )
    return root


def test_the_graph_is_the_raw_edges_made_simple_with_its_features(tmp_path: Path) -> None:
    plain(tmp_path)
    arrays = read_graph(PLAIN, lambda path: tmp_path / path)
    assert arrays["edges"].T.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert arrays["x"].tolist() == FEATURES
    assert [arrays[key].tolist() for key in ("num_nodes", "entries")] == [[SIZE], [6]]


def test_links_and_negatives_are_those_of_the_files_in_their_order(tmp_path: Path) -> None:
    plain(tmp_path)
    arrays = read_links(PLAIN, lambda path: tmp_path / path, SIZE)
    assert arrays["train"].T.tolist() == EDGES
    assert arrays["valid"].T.tolist() == [[0, 1], [5, 0]]
    assert arrays["valid_negatives"].T.tolist() == [[0, 3], [0, 4], [5, 4]]
    assert arrays["test"].T.tolist() == [[4, 5]]
    assert arrays["test_negatives"].T.tolist() == [[1, 5], [2, 5]]


def test_ranked_negatives_belong_to_the_first_node_of_their_link(tmp_path: Path) -> None:
    ranked(tmp_path)
    arrays = read_links(RANKED, lambda path: tmp_path / path, SIZE)
    assert arrays["test"].tolist() == [[4, 3], [5, 5]]
    negatives = arrays["test_negatives"]
    assert negatives.shape == (2, 2, 3)
    for link in range(2):
        assert set(negatives[0, link].tolist()) == {int(arrays["test"][0, link])}
    assert negatives[1].tolist() == [[1, 2, 3], [2, 1, 2]]


@pytest.fixture
def shelf(tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root and a cache of this test's own."""
    monkeypatch.setenv("ENGNN_DATA", str(tmp_path))
    return tmp_path


def collab(root: Path) -> Path:
    return plain(root, Layout(folder="ogbl_collab", split="time", features=128), [[0.5] * 128 for _ in range(SIZE)])


def test_collab_opens_by_name_lets_new_validation_edges_carry_messages_and_tells_its_leaks(shelf: Path) -> None:
    collab(shelf)
    for _ in range(2):  # the second time from the cache
        dataset = open_dataset("ogbl-collab")
        links = dataset.links
        assert isinstance(links, Links)
        assert links.test_message is not None
        assert links.test_message.T.tolist() == [[0, 5]]  # the other validation edge is in the graph already
        assert dataset.graphs.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [3, 4], [4, 3]]
        assert dataset.graphs.batch().x.shape == (SIZE, 128)  # type: ignore[union-attr]
        assert (dataset.metric, dataset.split_name) == ("hits@50", "official")
        assert {pairs.dtype for pairs in (links.train, links.valid_negatives, links.test)} == {torch.int64}
        told = [note.removeprefix("as published: ") for note in dataset.notes if note.startswith("as published: ")]
        assert tuple(told) == link_leaks(dataset)
        assert any("train links and valid links share 1 pairs" in leak for leak in told)
    facts = describe("ogbl-collab")
    assert (facts["nodes"], facts["edges"], facts["splits"]) == (6, 5, {"train": 6, "valid": 2, "test": 1})


def test_the_published_archive_opens_as_it_is(shelf: Path, cache_folder: Path) -> None:
    collab(shelf)
    expected = link_leaks(open_dataset("ogbl-collab"))
    unpacked = shelf / "ogb" / "ogbl_collab"
    with zipfile.ZipFile(shelf / "ogb" / "collab.zip", "w") as archive:
        for path in unpacked.rglob("*"):
            archive.write(path, Path("collab") / path.relative_to(unpacked))
    shutil.rmtree(unpacked)
    shutil.rmtree(cache_folder)
    assert link_leaks(open_dataset("ogbl-collab")) == expected
    assert [path.name for path in (shelf / "ogb").iterdir()] == ["collab.zip"]


def test_ppa_and_citation2_open_by_name_with_their_metrics(shelf: Path) -> None:
    plain(shelf, Layout(folder="ogbl_ppa", split="throughput", features=58), [[1.0] * 58 for _ in range(SIZE)])
    assert open_dataset("ogbl-ppa").metric == "hits@100"
    assert open_dataset("ogbl-ppa").links.test_message is None  # type: ignore[union-attr]
    ranked(shelf)
    (shelf / "ogb" / "tiny").rename(shelf / "ogb" / "ogbl_citation2")
    folder = Layout(folder="ogbl_citation2", split="time", features=128)
    table(shelf / folder.raw("node-feat"), [[0.25] * 128 for _ in range(SIZE)])
    dataset = open_dataset("ogbl-citation2")
    assert dataset.metric == "mrr"
    assert dataset.links is not None
    assert dataset.links.valid_negatives.shape == (2, 2, 3)


@pytest.mark.parametrize(
    "path", ["raw/edge.csv.gz", "raw/num-node-list.csv.gz", "raw/node-feat.csv.gz", "split/time/valid.pt"]
)
def test_a_missing_file_is_named(path: str, shelf: Path) -> None:
    collab(shelf)
    (shelf / "ogb" / "ogbl_collab" / path).unlink()
    with pytest.raises(MissingFile, match=f"ogb/ogbl_collab/{path}"):
        open_dataset("ogbl-collab")


def test_files_that_changed_are_read_anew(shelf: Path) -> None:
    collab(shelf)
    assert open_dataset("ogbl-collab").links.test.T.tolist() == [[4, 5]]  # type: ignore[union-attr]
    path = shelf / "ogb" / "ogbl_collab" / "split" / "time" / "test.pt"
    pt(path, {"edge": np.array([[3, 5]]), "edge_neg": np.array([[1, 5], [2, 5], [0, 2]])})
    assert open_dataset("ogbl-collab").links.test.T.tolist() == [[3, 5]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("num-node-list", [[6], [7]], r"num-node-list\.csv\.gz has more than 1 rows, but a dataset of one graph has 1"),
        ("num-node-list", [[0]], r"num-node-list\.csv\.gz says 0, which is no sensible count"),
        ("num-node-list", [[1 << 40]], r"says 1099511627776, which is no sensible count"),
        ("num-node-list", [[5]], r"node-feat\.csv\.gz has more than 5 rows, but num-node-list\.csv\.gz has 5"),
        ("num-edge-list", [], r"num-edge-list\.csv\.gz has 0 rows"),
        ("num-edge-list", [[-3]], r"num-edge-list\.csv\.gz says -3"),
        ("num-edge-list", [[7]], r"edge\.csv\.gz has 6 rows, but num-edge-list\.csv\.gz has 7"),
        ("num-edge-list", [[5]], r"edge\.csv\.gz has more than 5 rows, but num-edge-list\.csv\.gz has 5"),
        ("edge", [*EDGES[:5], [0, 6]], r"edge\.csv\.gz: row 6 names node 6, but nodes are numbered 0 to 5"),
        ("edge", [*EDGES[:5], [-1, 0]], r"edge\.csv\.gz: row 6 names node -1"),
        ("edge", [[0, 1, 2]] * 6, r"edge\.csv\.gz has 3 columns, not 2"),
        ("edge", [*EDGES[:5], ["0", "x"]], r"edge\.csv\.gz is damaged.*'x'.*row 5"),
        ("edge", [*EDGES[:5], [0.5, 1]], r"edge\.csv\.gz is damaged.*'0\.5'"),
        ("edge", [*EDGES[:5], [3]], r"edge\.csv\.gz is damaged.*columns changed from 2 to 1"),
        ("node-feat", FEATURES[:5], r"node-feat\.csv\.gz has 5 rows, but num-node-list\.csv\.gz has 6"),
        ("node-feat", [[0, 1]] * 6, r"node-feat\.csv\.gz has 2 columns, not 3"),
        ("node-feat", [*FEATURES[:5], [0, "nan", 1]], r"node-feat\.csv\.gz: row 6, column 2 is nan"),
    ],
)
def test_a_wrong_table_is_refused_with_its_file_its_row_and_its_value(
    name: str, rows: list[list[Any]], message: str, tmp_path: Path
) -> None:
    plain(tmp_path)
    table(tmp_path / PLAIN.raw(name), rows)
    with pytest.raises(InputError, match=message):
        read_graph(PLAIN, lambda path: tmp_path / path)


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"0,1\n", lambda data: b""])
def test_a_damaged_gzip_file_is_refused(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plain(tmp_path)
    path = tmp_path / PLAIN.raw("edge")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"edge\.csv\.gz (is damaged|has 0 rows)"):
        read_graph(PLAIN, lambda path: tmp_path / path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.zeros(3, 2), r"valid\.pt holds a Tensor, not a dict"),
        ({"edge": torch.tensor([[0, 1]])}, r"valid\.pt has no 'edge_neg', only 'edge'"),
        ({"edge": [[0, 1]], "edge_neg": torch.tensor([[0, 1]])}, r"'edge' is a list, not an array"),
        ({"edge": torch.zeros(2, 2)}, r"'edge' is float32 of shape \(2, 2\), not integers of shape \(p, 2\)"),
        ({"edge": torch.zeros(2, 3, dtype=torch.int64)}, r"'edge' is int64 of shape \(2, 3\)"),
        ({"edge": torch.zeros(0, 2, dtype=torch.int64)}, r"'edge' is int64 of shape \(0, 2\)"),
        ({"edge": torch.zeros(2, dtype=torch.int64)}, r"'edge' is int64 of shape \(2\)"),
        (
            {"edge": torch.tensor([[0, 1]]), "edge_neg": torch.tensor([[0, 1], [2, 6]])},
            r"valid\.pt: 'edge_neg', row 2 names node 6, but nodes are numbered 0 to 5",
        ),
        ({"edge": torch.tensor([[0, -1]])}, r"'edge', row 1 names node -1"),
    ],
)
def test_a_wrong_split_is_refused_with_its_file_its_key_and_its_value(
    value: object, message: str, tmp_path: Path
) -> None:
    plain(tmp_path)
    pt(tmp_path / PLAIN.part("valid"), value)
    with pytest.raises(InputError, match=message):
        read_links(PLAIN, lambda path: tmp_path / path, SIZE)


def test_ranked_parts_of_different_lengths_are_refused(tmp_path: Path) -> None:
    ranked(tmp_path)
    two, three = np.array([0, 1]), np.array([[1, 2], [2, 3], [3, 4]])
    pt(tmp_path / RANKED.part("test"), {"source_node": two, "target_node": two, "target_node_neg": three})
    with pytest.raises(
        InputError, match=r"'target_node_neg' is int64 of shape \(3, 2\), not integers of shape \(2, k\)"
    ):
        read_links(RANKED, lambda path: tmp_path / path, SIZE)
    pt(tmp_path / RANKED.part("test"), {"source_node": two, "target_node": three[0][:1]})
    with pytest.raises(InputError, match=r"'target_node' is int64 of shape \(1\), not integers of shape \(2\)"):
        read_links(RANKED, lambda path: tmp_path / path, SIZE)


class Hostile:
    """What, unpickled by Python, makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_split_that_would_run_something_is_refused_and_runs_nothing(zipped: bool, tmp_path: Path) -> None:
    plain(tmp_path)
    made = tmp_path / "made"
    value = {"edge": Hostile(made)}
    torch.save(value, tmp_path / PLAIN.part("train"), _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"train\.pt: .*it names .*open"):
        read_links(PLAIN, lambda path: tmp_path / path, SIZE)
    assert not made.exists()


def test_ddi_has_the_papers_counts_and_the_benchmarks_split(open_or_skip: Open) -> None:
    dataset = open_or_skip("ogbl-ddi")
    links = dataset.links
    assert links is not None
    assert dataset.graphs.num_nodes.tolist() == [4267]
    sizes = [links.train.size(1), links.valid.size(1), links.test.size(1)]
    assert sizes == [1067911, 133489, 133489]
    assert sum(sizes) == 1334889
    assert [links.valid_negatives.shape, links.test_negatives.shape] == [(2, 101882), (2, 95599)]
    assert dataset.graphs.num_edges.tolist() == [2 * 1067911]
    assert dataset.graphs.x is None
    assert dataset.metric == "hits@20"
    assert link_leaks(dataset) == ()


def test_ddi_is_the_first_lines_of_its_files(data_root: Path, open_or_skip: Open) -> None:
    links = open_or_skip("ogbl-ddi").links
    assert links is not None
    with gzip.open(data_root / "ogb" / "ogbl_ddi" / "raw" / "edge.csv.gz", "rt") as lines:
        rows = [[int(word) for word in next(lines).split(",")] for _ in range(1000)]
    assert links.train[:, :1000].T.tolist() == rows


MEASURE = """
import sys
from engnn.data.catalog import open_dataset
open_dataset(sys.argv[1], task="link")
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory of a process is read from /proc")
@pytest.mark.parametrize("name", ["ogbl-ddi", "coauthor-physics"])
def test_a_cached_dataset_opens_in_less_than_a_gigabyte(name: str, open_or_skip: Open) -> None:
    open_or_skip(name, task="link")
    seen = subprocess.run(
        [sys.executable, "-c", MEASURE, name], capture_output=True, text=True, check=True, env=os.environ
    )
    assert int(seen.stdout) < 1_000_000  # kB

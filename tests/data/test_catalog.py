"""Datasets by name and by path: what is opened, what is told of it, and what is said where that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engnn.data import catalog, files
from engnn.data.catalog import describe, fetch, is_path, open_dataset, outline, sources
from engnn.errors import InputError

EDGES = "source,target\na,b\nb,c\nc,d\nd,e\n"
NODES = "id,age,label\na,1,x\nb,2,y\nc,3,x\nd,4,y\ne,5,x\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of the user's own."""
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path


@pytest.fixture
def nowhere(cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No raw file is anywhere, none can be had, and nothing was parsed before."""
    monkeypatch.setattr(files, "roots", lambda: (tmp_path / "nowhere",))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("coar", "'coar' is neither a dataset nor a file or folder here; did you mean 'cora'"),
        ("no/such/folder", "no/such/folder is not there"),
        ("counting:7-cycle", "option '7-cycle' is not known; did you mean"),
        ("karate:big", "option 'big' is not known; karate has no options"),
    ],
)
def test_what_has_no_such_name_is_told_with_what_is_near(data: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_dataset(data)
    with pytest.raises(InputError, match=said):
        describe(data)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"task": "nodes"}, "task 'nodes' is not known; did you mean 'node'"),
        ({"task": "link"}, "karate has no link task; known: node"),
        ({"split": "public"}, "karate has no split 'public'"),
        ({"seed": -1}, "seed -1 must be"),
    ],
)
def test_what_a_dataset_cannot_do_is_told(asked: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_dataset("karate", **asked)  # type: ignore[arg-type]


def test_a_split_by_name_is_for_named_datasets(mine: Path) -> None:
    with pytest.raises(InputError, match=r"split 'public' is for named datasets.*column named 'split'"):
        open_dataset(mine, split="public")


def test_a_name_wins_over_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "karate").mkdir()
    (tmp_path / "own").mkdir()
    assert not is_path("karate")
    assert not is_path("counting:4-cycle")
    assert is_path("./karate")
    assert is_path(Path("karate"))
    assert is_path("own")
    assert not is_path("elsewhere")


def test_the_users_own_data_open_by_their_path_and_are_told_alike(mine: Path) -> None:
    dataset = open_dataset(str(mine), seed=1)
    facts = describe(str(mine), seed=1)
    assert (dataset.provenance, dataset.name, dataset.source) == ("own", mine.name, str(mine))
    assert facts["present"] is True
    assert (facts["nodes"], facts["edges"], facts["features"], facts["classes"]) == (5, 4, 1, 2)
    assert facts["splits"] == {"train": 3, "valid": 1, "test": 1}


def test_edges_are_told_undirected_and_of_links_all_of_them(mine: Path) -> None:
    (mine / "edges.csv").write_text("source,target\na,b\nb,a\nb,b\nb,c\nc,d\nd,e\n")
    assert describe(mine)["edges"] == 4
    assert describe(mine, task="link")["edges"] == 4
    assert open_dataset(mine, task="link").graphs.edge_index.size(1) == 2 * 2  # the rest is held out


def test_of_many_graphs_means_are_told() -> None:
    facts = describe("counting-generated:4-cycle")
    graphs = open_dataset("counting-generated").graphs
    assert facts["graphs"] == 5000
    assert facts["nodes"] == pytest.approx(graphs.num_nodes.double().mean().item())
    assert facts["edges"] == pytest.approx(graphs.num_edges.double().mean().item() / 2)
    assert facts["classes"] == 1


@pytest.mark.usefixtures("nowhere")
def test_without_its_files_a_dataset_is_told_as_far_as_it_is_known() -> None:
    facts = describe("cora", task="link")
    assert (facts["name"], facts["task"], facts["metric"], facts["present"]) == ("cora", "link", "hits@100", False)
    assert facts["nodes"] is facts["edges"] is facts["classes"] is None
    assert facts["splits"] == {}
    missing = facts["missing"]
    assert isinstance(missing, list)
    assert len(missing) == len(sources()["cora"].files)
    with pytest.raises(files.MissingFile, match=r"Planetoid/Cora/raw/ind\.cora\..* is not here\. Put it"):
        open_dataset("cora")


@pytest.mark.usefixtures("nowhere")
def test_what_is_generated_where_files_are_absent_is_told_as_what_it_is() -> None:
    facts = describe("density")
    assert (facts["provenance"], facts["present"]) == ("generated", True)
    assert facts["missing"] == ["subgraph/density.npz"]
    assert "NOT THE PUBLISHED" in " ".join(facts["notes"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("nowhere")
def test_a_file_that_cannot_be_had_is_told_with_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(files.MissingFile, match=f"Put it .* under {tmp_path / 'nowhere'}"):
        fetch("usair")


def test_files_that_are_here_are_given_and_nothing_is_brought(open_or_skip: Callable[..., object]) -> None:
    open_or_skip("usair", task="link")
    (path,) = fetch("usair")
    assert path.name == "USAir.mat"
    assert outline(sources()["usair"])["bytes"] == path.stat().st_size
    assert fetch("karate") == ()


@pytest.mark.usefixtures("cache_folder")
def test_describing_brings_nothing_over_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def bring(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(files, "roots", lambda: (tmp_path,))
    monkeypatch.setenv("ENGNN_OFFLINE", "0")
    monkeypatch.setattr("engnn.data.download.download", bring)
    assert describe("cora")["present"] is False
    with pytest.raises(AssertionError, match="the network was asked"):
        open_dataset("cora")


def test_two_datasets_of_one_name_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type("Module", (), {"SOURCES": [sources()["karate"]] * 2})
    monkeypatch.setattr(catalog.importlib, "import_module", lambda _: module)
    with pytest.raises(ValueError, match="two datasets are named 'karate'"):
        sources.__wrapped__()


def test_a_split_that_leaks_is_never_opened(mine: Path) -> None:
    (mine / "links.csv").write_text("source,target,split\na,c,train\nc,a,test\nb,d,valid\n")
    with pytest.raises(InputError, match=r"links\.csv, line 3"):
        open_dataset(mine, task="link")

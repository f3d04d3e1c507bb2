"""The measurement of opening measures what it says it does; what it finds is printed, not asserted."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from engnn.bench import data
from engnn.data import own


def test_a_users_folder_is_as_large_as_stated_and_sound() -> None:
    with data.own_folder(edges=500, nodes=100) as folder:
        dataset = own.read(folder)
        assert (dataset.task, int(dataset.graphs.num_nodes)) == ("node", 100)
        assert len((folder / "edges.csv").read_text().splitlines()) == 501
        assert dataset.graphs.edge_weight is not None
        assert dataset.graphs.edge_attr is not None
    assert not folder.exists()


def test_a_dataset_is_opened_twice_with_a_cache_that_the_first_opening_fills() -> None:
    row = data.measure("density-generated")
    assert row.name == "density-generated"
    assert row.cache_bytes > 100_000  # the graph and its subgraphs
    assert min(row.cold.peak_bytes, row.warm.peak_bytes) > 10**7
    assert min(row.cold.seconds, row.warm.seconds) > 0


@pytest.mark.parametrize("asked", [["karate"], [data.OWN]])
def test_what_is_asked_for_is_measured_and_printed(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data, "own_folder", partial(data.own_folder, 10, 10))
    monkeypatch.setattr(
        data,
        "measure",
        lambda name: data.Row(Path(name).name, data.Opening(1.5, 2000000), data.Opening(0.5, 3000000), 7),
    )
    monkeypatch.setattr(sys, "argv", ["bench", *asked, "--json"])
    data.main()
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["nothing", *asked]
    monkeypatch.setattr(sys, "argv", ["bench", *asked])
    data.main()
    _, nothing, row = capsys.readouterr().out.splitlines()
    assert row.split() == [*asked, "1.50", "0.50", "2", "3", "0.0"]
    assert nothing.split()[0] == "nothing"


def test_all_that_is_here_is_measured_where_nothing_is_asked_for() -> None:
    assert {"karate", "counting-generated"} <= set(data.present())

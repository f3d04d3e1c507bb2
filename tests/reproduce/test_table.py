"""Tables are sound, their cells can be run, and their numbers are the paper's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from engnn.data.catalog import sources
from engnn.errors import InputError
from engnn.reproduce.recipe import files, settings
from engnn.reproduce.table import Run, Table, printed, table, tables
from engnn.tasks import task_of
from engnn.train.loop import Training
from engnn.train.models import names
from engnn.train.options import make_config

PAPER = Path(__file__).parents[3] / "shared" / "paper.tex"
SMALL = {"node": "karate", "link": "small-world", "subgraph": "density-generated", "graph": "csl"}


def in_the_paper(label: str) -> list[list[str]]:
    """The lines of a table of the paper, each cell as plain text."""
    if not PAPER.exists():
        pytest.skip("paper.tex is not beside the checkout")
    text = PAPER.read_text()
    begin = text.index("\\begin{tabular}", text.index(f"\\label{{{label}}}"))
    body = text[begin : text.index("\\end{tabular}", begin)].split("\n", 1)[1]
    lines = []
    for line in re.sub(r"\\(top|mid|bottom)rule", "", body).split("\\\\"):
        cells = [re.sub(r"\\(mathbf|underline|scriptstyle|color\{\w+\})|[${}_~]", "", cell) for cell in line.split("&")]
        cells = [" ".join(cell.replace("\\pm", "±").replace("\\ ", " ").split()) for cell in cells]
        lines.append([re.sub(r" ?± ?", "±", cell) for cell in cells])
    return [line for line in lines if any(line)]


PRINTED = [one for one in tables().values() if one.label]


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)
def test_all_numbers_of_the_paper_s_table_are_there_and_no_others(one: Table) -> None:
    head, *lines = in_the_paper(one.label)
    numbers = {}
    for name, *cells in lines:  # of two lines with one name (MPNN, cited and their own) the later counts
        for column, cell in zip(head[1:], cells, strict=True):
            if re.match(r"[\d.]+", cell):
                numbers |= printed(f"{column}\n{name}  {cell}")
    ours = dict(one.paper)
    turned = {(column, row): number for (row, column), number in ours.items()}
    assert numbers in (ours, turned)
    assert len(numbers) > 5


def test_a_number_that_is_not_the_paper_s_is_found() -> None:
    """That the test above can fail."""
    assert printed("A\nx  1.0±0.1") != printed("A\nx  1.0±0.2")
    assert printed("A\nx  1.0") != printed("A\nx  1.00")


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)
def test_rows_and_columns_with_a_label_have_a_number_in_the_paper(one: Table) -> None:
    rows, columns = ({pair[side] for pair in one.paper} for side in (0, 1))
    if one.name != "scalability":  # whose page is its own
        assert {row.label for row in one.rows if row.label} <= rows
        assert {column.label for column in one.columns if column.label} <= columns
        assert any(cell.printed for cell in one.cells)


def test_the_tables_of_the_paper_come_first_in_its_order() -> None:
    assert list(tables())[:6] == ["node", "link", "subgraph", "counting", "molecules", "scalability"]
    assert {"noise", "generalisation", "expressivity"} <= set(tables())
    with pytest.raises(InputError, match="did you mean 'counting'"):
        table("countin")


@pytest.mark.parametrize("name", tables())
def test_every_cell_of_a_table_is_a_run_that_can_be_asked_for(name: str) -> None:
    one = table(name)
    assert len({cell.name for cell in one.cells}) == len(one.cells)
    for cell in one.cells:
        for seed in (0, one.seeds - 1):
            asked = settings(Run(cell, seed))
            data, _, option = asked["data"].partition(":")
            source = sources()[data]
            assert asked["task"] in source.tasks
            assert option in ("", *source.options)
            assert asked.get("split", "") in ("", *source.splits)
            assert asked.get("model.name", "engnn") in names()
            assert asked["seed"] == make_config(asked).seed == seed


def test_ours_differ_in_the_variant_alone() -> None:
    """And in draws, of which one is as good as many to a model that answers the same to each.

    A committed recipe of a cell alone may say otherwise: then each of the models was tuned.
    """
    apart = {"model.variant": "", "draws": 0}
    for name in ("node", "link", "subgraph", "counting", "molecules"):
        first: dict[str, dict[str, object]] = {}
        for cell in table(name).cells:
            tuned = any("." in file.name.removesuffix(".yaml") for file in files(cell))
            if not (cell.column.late or tuned):
                asked = settings(Run(cell, 0)) | apart
                assert first.setdefault(cell.row.name, asked) == asked


def test_runs_go_seed_by_seed_and_baselines_come_last() -> None:
    one = table("node")
    runs = list(one.runs(one.chosen(["cora", "photo"]), 2))
    shown = [(run.cell.column.name, run.seed) for run in runs if run.cell.row.name == "cora"]
    assert shown[:6] == [("engnn", 0), ("mpnn", 0), ("nmpnn", 0), ("engnn", 1), ("mpnn", 1), ("nmpnn", 1)]
    assert shown[6] == ("gcn", 0)
    assert [run.cell.row.name for run in runs[:2]] == ["cora", "photo"]
    assert len(runs) == len({(run.cell.name, run.seed) for run in runs}) == 2 * 2 * len(one.columns)


@pytest.mark.parametrize(
    ("patterns", "names_"),
    [
        (["cora/engnn"], {"cora/engnn"}),
        (["*/mpnn"], {"cora/mpnn", "photo/mpnn"}),
        (["photo"], {"photo/engnn", "photo/gcn"}),
    ],
)
def test_cells_are_chosen_by_pattern(patterns: list[str], names_: set[str]) -> None:
    chosen = {cell.name for cell in table("node").chosen(patterns)}
    assert names_ <= chosen
    assert chosen <= {
        cell.name for cell in table("node").cells if cell.row.name in ("cora", "photo") or "*" in patterns[0]
    }


RECIPES = sorted({file for one in tables().values() for cell in one.cells for file in files(cell)}, key=str)


def test_every_recipe_of_a_table_is_of_a_cell() -> None:
    folder = Path(__file__).parents[2] / "src" / "engnn" / "recipes" / "tables"
    assert {str(file) for file in RECIPES} == {str(file) for file in folder.rglob("*.yaml")}


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: f"{Path(str(file)).parent.name}-{file.name}")
def test_a_recipe_of_a_table_builds_a_model_that_takes_a_step(file: Path) -> None:
    cell = next(cell for one in tables().values() for cell in one.cells if file in files(cell))
    asked = settings(Run(cell, 0))
    from engnn.data.catalog import open_dataset

    dataset = open_dataset(SMALL[asked["task"]])
    small = {"data": SMALL[asked["task"]], "split": "", "train.batch_size": 4, "train.device": "cpu"}
    loss, _ = Training(task_of(dataset), make_config(asked, small)).step()
    assert torch.tensor(loss).isfinite()

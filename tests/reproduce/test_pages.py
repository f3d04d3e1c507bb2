"""Pages say what is on record, all of it and nothing else; those in the repository are made of the records in it."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engnn.errors import InputError
from engnn.report.record import read_records
from engnn.reproduce import figure, ledger, pages
from engnn.reproduce.brec import judged
from engnn.reproduce.table import Cell, Run, Table, printed, table, tables
from engnn.reproduce.tables import scalability
from engnn.reproduce.tables.noise import DRAWS

ROOT = Path(__file__).parents[2]
Made = Callable[..., dict[str, Any]]


def put(records: Path, *found: dict[str, Any]) -> None:
    from engnn.train.record import append

    records.mkdir(exist_ok=True)
    for said in found:
        append(records / f"{said['cell']['table']}.jsonl", said)


def rows(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


@pytest.fixture
def paper(small: Table) -> Table:
    """The small table, of which a paper prints some."""
    return replace(small, paper=printed("      ENGNN       MPNN\nClub  88.85±0.96  87.36"), seeds=3)


def test_the_results_page_is_made_of_the_records() -> None:
    assert pages.page(ROOT / "records") == (ROOT / pages.PAGE).read_text()


def test_the_readme_s_results_are_made_of_the_records() -> None:
    readme = (ROOT / pages.README).read_text()
    assert pages.readme(readme, ROOT / "records") == readme


def test_the_figure_is_made_of_the_records() -> None:
    drawn = figure.drawn(pages._by_cell(tables()[figure.TABLE], ROOT / "records"))
    path = ROOT / pages.FIGURE
    assert (path.read_text() if path.exists() else None) == drawn


def test_records_in_the_repository_are_of_tables_and_cells_that_are_there() -> None:
    for path in (ROOT / "records").glob("*.jsonl"):
        one = table(path.stem)
        cells = {(cell.row.name, cell.column.name) for cell in one.cells}
        found = ledger.read(path)
        assert len(read_records(path)) == len(found)  # which `engnn report records/` takes
        assert len(found) == len(path.read_text().splitlines())
        for said in found:
            assert said["cell"]["table"] == one.name
            assert (said["cell"]["row"], said["cell"]["column"]) in cells
            assert said["complete"]


def test_mean_deviation_difference_and_seeds_are_those_of_the_records(paper: Table, made: Made, tmp_path: Path) -> None:
    cell, scores = paper.cells[0], [0.90, 0.91, 0.95]
    put(tmp_path, *(made(cell, seed, score) for seed, score in enumerate(scores)))
    (line,) = rows(pages.section(paper, pages.results(paper, tmp_path)))[1:]
    percent = [100 * score for score in scores]
    mean, deviation = statistics.fmean(percent), statistics.stdev(percent)
    assert line[:4] == ["club", "engnn", f"{mean:.2f} ± {deviation:.2f}", "3"]
    assert line[4:] == ["88.85 ± 0.96", f"+{mean - 88.85:.2f}, as good or better", "", "original", "10", "2"]


def test_beside_another_model_stand_our_engnn_and_whether_anything_is_published(
    paper: Table, made: Made, tmp_path: Path
) -> None:
    put(tmp_path, made(paper.cells[0], 0, 0.9), *(made(cell, 0, 0.8) for cell in paper.cells[1:]))
    lines = rows(pages.section(paper, pages.results(paper, tmp_path)))[1:]
    by_cell = {(line[0], line[1]): line for line in lines}
    assert [by_cell["club", model][6] for model in ("engnn", "mpnn")] == ["", "90.00"]
    for cell in paper.cells:
        assert (by_cell[cell.row.name, cell.column.name][4] == "not published") == (cell.printed is None)


def test_only_complete_records_of_the_present_recipe_are_told(paper: Table, made: Made, tmp_path: Path) -> None:
    cell = paper.cells[0]
    other = made(cell, 1, 0.99)
    other["config"]["model"]["layers"] = 7
    put(tmp_path, made(cell, 0, 0.5), other, made(cell, 2, 0.99, complete=False), made(cell, 9, 0.99))
    lines = pages.section(paper, pages.results(paper, tmp_path))
    (line,) = rows(lines)[1:]
    assert line[2:4] == ["50.00", "1 of 3"]
    assert line[5].startswith("−38.85, worse")
    text = "\n".join(lines)
    assert "0 of 4 cells are whole (3 seeds each), 1 more have some of their seeds." in text
    assert "Missing, without any complete run: `engnn` on deep; `mpnn` on all rows." in text
    assert "3 more records" in text


@pytest.mark.parametrize(("higher", "verdict"), [(True, "as good or better"), (False, "worse")])
def test_which_is_better_is_the_metric_s_to_say(
    higher: bool, verdict: str, paper: Table, made: Made, tmp_path: Path
) -> None:
    put(tmp_path, made(paper.cells[0], 0, 0.9, higher_is_better=higher))
    (line,) = rows(pages.section(paper, pages.results(paper, tmp_path)))[1:]
    assert line[5] == f"+1.15, {verdict}"


def test_the_verdict_is_over_rows_that_have_a_score_and_says_how_many_lack_seeds(
    paper: Table, made: Made, tmp_path: Path
) -> None:
    club, mpnn, deep, _ = paper.cells
    put(tmp_path, *(made(club, seed, 0.90) for seed in range(3)), *(made(mpnn, seed, 0.91) for seed in range(3)))
    put(tmp_path, *(made(deep, seed, 0.90) for seed in range(2)))
    text = "\n".join(pages.section(paper, pages.results(paper, tmp_path)))
    assert "2 of 4 cells are whole" in text
    assert "As good as the paper's engnn or better on 1 of 1 rows. Better than our mpnn on 0 of 1." in text
    assert "Of these rows 1 have fewer seeds than the table asks for." in text


def test_a_run_without_a_test_score_makes_no_mean(paper: Table, made: Made, tmp_path: Path) -> None:
    put(tmp_path, made(paper.cells[0], 0, 0.9), made(paper.cells[0], 1, None))
    assert not rows(pages.section(paper, pages.results(paper, tmp_path)))


def test_without_records_all_is_missing_and_no_number_is_told(tmp_path: Path) -> None:
    text = pages.page(tmp_path)
    assert text.count("Missing, without any complete run: all cells.") == len(tables())
    assert not re.search(r"\d\.\d+ ±", text)


def full(name: str, made: Made, **more: Any) -> list[dict[str, Any]]:
    cells: tuple[Cell, ...] = table(name).cells
    return [made(cell, 0, 0.1 + 0.01 * place, **more) for place, cell in enumerate(cells)]


def test_draws_have_a_table_of_their_own(made: Made, tmp_path: Path) -> None:
    put(tmp_path, *full("noise", made, by_draws={str(draws): 1 / draws for draws in DRAWS}))
    text = "\n".join(pages.section(table("noise"), pages.results(table("noise"), tmp_path)))
    assert "| 4-cycle/onehot | 1.0000 | 0.5000 | 0.2500 | 0.1250 | 0.0625 |" in text


def test_the_curve_is_drawn_and_told_with_covering_numbers(made: Made, tmp_path: Path) -> None:
    put(tmp_path, *full("generalisation", made))
    text = "\n".join(pages.section(table("generalisation"), pages.results(table("generalisation"), tmp_path)))
    assert "| engnn-onehot | 1 | 0.1100 |" in text
    assert "| engnn-rotations | 1 |" in text
    assert "| engnn-normal | infinite |" in text
    assert "| mpnn | none |" in text
    drawn = figure.drawn(
        {one.cell.name: one.records for one in pages.results(table("generalisation"), tmp_path) if one.records}
    )
    assert drawn is not None
    assert drawn.count('class="line ') == len(table("generalisation").columns)
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawn


def test_brec_is_told_by_category_and_by_both_cuts(made: Made, tmp_path: Path) -> None:
    pairs = [{"category": "basic", "t2": 80.0, "same": 0.5}, {"category": "cfi", "t2": 9.0, "same": 90.0}]
    cell = next(cell for cell in table("expressivity").cells if cell.name == "brec/mpnn")
    put(tmp_path, made(cell, 0, 0.5, categories=judged(pairs), draws=4))
    text = "\n".join(pages.section(table("expressivity"), pages.results(table("expressivity"), tmp_path)))
    assert "| mpnn | 4 | basic | 1 | 1.0 (0.0) | 1.0 (0.0) |" in text
    assert "| mpnn | 4 | cfi | 1 | 0.0 (1.0) | 0.0 (1.0) |" in text
    assert "| mpnn | 4 | all | 2 | 1.0 (1.0) | 1.0 (1.0) |" in text


def test_bare_and_boosted_models_are_told_in_pairs_over_the_seeds_of_both(made: Made, tmp_path: Path) -> None:
    cells = {cell.name: cell for cell in table("boost").cells}
    for name, score, seeds in (
        ("3-cycle/gin", 0.5, 1),
        ("3-cycle/boosted_gin", 0.125, 1),
        ("chameleon/gcn", 0.5, 3),
        ("chameleon/boosted_gcn", 0.4, 3),
        ("cora/gcn", 0.5, 3),
        ("cora/boosted_gcn", 0.9, 2),
    ):
        higher = not name.startswith("3-cycle")
        said = {"higher_is_better": higher, "metric": "some"}
        put(tmp_path, *(made(cells[name], seed, score, **said) for seed in range(seeds)))
    found = pages.results(table("boost"), tmp_path)
    assert {one.cell.name for one in found if one.whole} == {
        "3-cycle/gin",
        "3-cycle/boosted_gin",
        "chameleon/gcn",
        "chameleon/boosted_gcn",
        "cora/gcn",
    }
    text = pages.boosted(tmp_path)
    assert text in "\n".join(pages.section(table("boost"), found))
    told = {line[0]: line[2:] for line in rows(text.splitlines())}
    assert "better on 2 of 3 pairs." in text
    assert told["counting:3-cycle"] == ["–", "0.5000 → 0.1250 (−0.3750)", "–", "–"]
    assert told["chameleon"] == ["50.00 → 40.00 (−10.00)", "–", "–", "–"]
    assert told["cora"] == ["50.00 → 90.00 (+40.00, 2 of 3 seeds)", "–", "–", "–"]


def test_a_row_may_ask_for_fewer_seeds() -> None:
    one = table("boost")
    runs = list(one.runs(one.chosen(["3-cycle/gcn", "cora/gcn"]), one.seeds))
    assert [run.seed for run in runs if run.cell.row.name == "3-cycle"] == [0]
    assert [run.seed for run in runs if run.cell.row.name == "cora"] == [0, 1, 2]


def test_ratios_of_the_epoch_are_beside_the_paper_s(made: Made, tmp_path: Path) -> None:
    models = [
        {"model": name, "epoch_seconds": seconds, "peak_bytes": 5_000_000}
        for name, seconds in (("engnn", 30.0), ("mpnn", 20.0), ("bare", 10.0))
    ]
    (cell,) = table("scalability").cells
    put(tmp_path, made(cell, 0, None, rows=models, batch=128, layers=6))
    text = "\n".join(pages.section(table("scalability"), pages.results(table("scalability"), tmp_path)))
    assert "| engnn | 30.0 | 1.50 | 3.00 | 5 | 4.81 | 2.04 | 0.62 |" in text


def test_the_epoch_is_a_record_like_any_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from engnn.bench import epoch

    rows_ = [{"model": "engnn", "epoch_seconds": 30.0, "peak_bytes": None}]
    said = {"data": "zinc", "provenance": "substitute", "batch": 128, "layers": 6, "rows": rows_}
    monkeypatch.setattr(epoch, "run", lambda repetitions: said)
    run = Run(table("scalability").cells[0], 0)
    ledger.add(tmp_path / "scalability.jsonl", run, scalability.measured(run, tmp_path, lambda: False), [])
    (record,) = read_records(tmp_path / "scalability.jsonl")
    assert record.whole["rows"] == rows_
    assert [one.whole for one in pages.results(table("scalability"), tmp_path)] == [True]


def test_a_page_without_markers_is_told() -> None:
    with pytest.raises(InputError, match="has no markers"):
        pages.between("nothing here", "new")


def test_make_tables_writes_what_is_compared(tmp_path: Path, made: Made) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"before\n{pages.BEGIN}\nold\n{pages.END}\n{'old'.join(pages.BOOST)}\nafter\n")
    put(tmp_path / "records", *full("generalisation", made))
    assert set(pages.write(tmp_path)) == {pages.PAGE, pages.README, pages.FIGURE}
    assert (tmp_path / pages.PAGE).read_text() == pages.page(tmp_path / "records")
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert "old" not in readme
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    pages.write(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before

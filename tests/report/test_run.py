"""Run folders and their answers: what is read is what was written, and what is broken is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engnn.errors import InputError
from engnn.report import figures
from engnn.report.answers import UNKNOWN, Classes, Values, YesNo, read_answers
from engnn.report.run import read_run

MakeRun = Callable[..., Path]
Table = tuple[list[str], list[list[object]]]


def test_the_three_kinds_of_answers_are_told_apart(
    make_run: MakeRun, classes: Callable[..., Table], values: Callable[..., Table], links: Callable[..., Table]
) -> None:
    kinds = {Classes: classes(["a", "b"]), Values: values(["u", "v"]), YesNo: links()}
    for kind, table in kinds.items():
        assert type(read_run(make_run(kind.__name__, answers=table)).answers) is kind


def test_names_that_look_like_columns_stay_names(
    make_run: MakeRun, classes: Callable[..., Table], values: Callable[..., Table]
) -> None:
    names = ["a", "p:a", "spread:a", "label", "prediction", "entropy", "", " x,\n\"y'"]
    found = read_run(make_run("classes", answers=classes(names))).answers
    assert isinstance(found, Classes)
    assert found.names == names
    outputs = ["a", "p:a", "label:b", "prediction"]
    answers = read_run(make_run("values", answers=values(outputs))).answers
    assert isinstance(answers, Values)
    assert [output.name for output in answers.outputs] == outputs


def test_classes_are_read_as_written(make_run: MakeRun, classes: Callable[..., Table]) -> None:
    header, rows = classes(["a", "b", "c"], 50)
    found = read_run(make_run(answers=(header, rows))).answers
    assert isinstance(found, Classes)
    for place, row in enumerate(rows):
        cells = dict(zip(header, row, strict=True))
        assert (UNKNOWN if cells["label"] == "" else "abc".index(str(cells["label"]))) == found.truth[place]
        assert cells["prediction"] == found.names[found.answer[place]]
        assert cells[f"p:{cells['prediction']}"] == found.confidence[place]
        assert cells[f"spread:{cells['prediction']}"] == found.spread[place]
        assert cells["entropy"] == found.entropy[place]


def test_values_are_read_as_written_and_empty_is_unknown(make_run: MakeRun, values: Callable[..., Table]) -> None:
    header, rows = values(["u", "v"], 20)
    rows[3][header.index("label:v")] = ""
    found = read_run(make_run(answers=(header, rows))).answers
    assert isinstance(found, Values)
    for output in found.outputs:
        for column, numbers in ((output.name, output.answer), (f"spread:{output.name}", output.spread)):
            assert [row[header.index(column)] for row in rows] == numbers.tolist()
    assert found.outputs[0].known.all()
    assert np.flatnonzero(~found.outputs[1].known).tolist() == [3]


def test_confusion_counts_every_known_answer_once(make_run: MakeRun, classes: Callable[..., Table]) -> None:
    for count in (3, 60):
        names = [f"class {place}" for place in range(count)]
        header, rows = classes(names, 500)
        found = read_run(make_run(f"of-{count}", answers=(header, rows))).answers
        assert isinstance(found, Classes)
        matrix = figures.confusion(found)
        assert matrix is not None
        assert len(matrix.names) == len(matrix.rows) == min(count, figures.MOST_CLASSES)
        assert sum(cell for row in matrix.rows for cell, _ in row) == matrix.known
        assert matrix.right == sum(row[1] == row[2] for row in rows if row[1])
        for row in matrix.rows:
            assert sum(share for _, share in row) == pytest.approx(1 if sum(cell for cell, _ in row) else 0)
        for place in range(min(count, figures.MOST_CLASSES) - (count > figures.MOST_CLASSES)):
            name = matrix.names[place]
            assert matrix.rows[place][place][0] == sum(row[1] == row[2] == name for row in rows)


def test_a_last_line_half_written_is_of_a_run_that_goes_on(make_run: MakeRun) -> None:
    folder = make_run()
    metrics = folder / "metrics.jsonl"
    metrics.write_text(metrics.read_text()[:-30])
    (folder / "record.json").unlink()
    found = read_run(folder)
    assert len(found.epochs) == 39
    assert found.record is None


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("metrics.jsonl", "", "metrics.jsonl is empty"),
        ("metrics.jsonl", '{"epoch": 1}\n{"epo\n', "metrics.jsonl, line 2 is not JSON"),
        ("metrics.jsonl", '{"epoch": 1, "loss": "low"}\n', "metrics.jsonl, line 1: loss is 'low'"),
        ("metrics.jsonl", '{"loss": 1}\n', "metrics.jsonl, line 1: the epoch is None"),
        ("record.json", "{", "record.json is not JSON"),
        ("predictions.csv", "", "predictions.csv has no columns of answers"),
        ("predictions.csv", "id,y,spread:y,spread:y,label:y\n", "two columns 'spread:y'"),
        ("predictions.csv", "id,a,b\n", "predictions.csv has no columns of answers"),
        ("predictions.csv", "id,y,spread:y,label:y\n1,2,0.1\n", "predictions.csv, line 2: 3 values under 4 columns"),
        ("predictions.csv", "id,y,spread:y,label:y\n1,nan,0.1,2\n", "line 2: y is 'nan'"),
        ("predictions.csv", "id,y,spread:y,label:y\n1,2,-1,2\n", "line 2: spread:y is '-1'"),
        ("predictions.csv", "id,p:y,spread:y,label:y\n1,1.5,0,1\n", "line 2: p:y is '1.5'"),
        ("predictions.csv", "id,p:y,spread:y,label:y\n1,0.5,0,yes\n", "line 2: label:y is 'yes'"),
        ("predictions.csv", "id,label,prediction,p:a,spread:a,entropy\n1,b,a,1,0,0\n", "line 2: the label 'b'"),
        ("predictions.csv", "id,label,prediction,p:a,spread:a,entropy\n1,a,b,1,0,0\n", "line 2: the prediction 'b'"),
        ("predictions.csv", 'id,y,spread:y,label:y\n"1,2,0.1,2\n', "predictions.csv, line 2"),
    ],
)
def test_what_is_broken_is_named(make_run: MakeRun, name: str, text: str, says: str) -> None:
    folder = make_run()
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=says):
        read_run(folder)


@pytest.mark.parametrize("name", ["config.yaml", "metrics.jsonl"])
def test_what_is_missing_is_named(make_run: MakeRun, name: str) -> None:
    folder = make_run()
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        read_run(folder)


@pytest.mark.parametrize("name", ["config.yaml", "metrics.jsonl", "record.json", "predictions.csv"])
def test_what_is_not_text_is_named(make_run: MakeRun, name: str) -> None:
    folder = make_run()
    (folder / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=name):
        read_run(folder)


def test_undefined_numbers_leave_a_gap(make_run: MakeRun) -> None:
    lines: list[dict[str, Any]] = [{"epoch": 1, "loss": float("nan")}, {"epoch": 2, "loss": 1.0, "valid": float("inf")}]
    folder = make_run(epochs=lines)
    assert "NaN" in (folder / "metrics.jsonl").read_text()
    assert [(epoch.loss, epoch.valid) for epoch in read_run(folder).epochs] == [(None, None), (1.0, None)]
    assert json.dumps([figure.title for figure in figures.training(read_run(folder))]) == '["Training loss"]'


def test_a_large_table_is_read_in_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "predictions.csv"
    with path.open("w") as file:
        file.write("id,y,spread:y,label:y\n")
        file.writelines(f"{place},{place / 7},0.5,{place}\n" for place in range(100_000))
    tracemalloc.start()
    found = read_answers(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(found, Values)
    assert len(found.outputs[0].answer) == 100_000
    assert peak < 100_000 * 3 * 8 * 2.5

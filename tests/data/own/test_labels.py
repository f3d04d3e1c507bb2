"""What a column of labels means is told and can be forced; a split is the files' own, or drawn among the labelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engnn.data.own.labels import Answers, read_labels, read_split
from engnn.data.own.table import Table, Values, make_table
from engnn.errors import InputError


def table(**columns: Values) -> Table:
    rows = len(next(iter(columns.values())))
    named = [(name.replace("__", ":"), values) for name, values in columns.items()]
    ids = [str(row) for row in range(rows)]
    return make_table("nodes", "nodes.csv", [("id", ids), *named], rows, lambda row: f"nodes.csv, line {row + 2}")


def read(labels: Values, how: str = "label", model: object = None) -> Answers:
    return read_labels(table(**{how: labels}), model)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        (["10", "9", "10"], ("9", "10")),
        (["1.0", "0.0", "1.0"], ("0.0", "1.0")),
        (["true", "false", "true"], ("false", "true")),
        (["-1", "1", "-1"], ("-1", "1")),
        (["7", "100", "7"], ("7", "100")),
        ([" a", "a ", "b"], ("a", "b")),
        (np.array([3.0, np.nan, 5.0]), ("3", "5")),
    ],
)
def test_text_and_whole_numbers_are_classes_in_order_and_gaps_are_closed(
    labels: Values, classes: tuple[str, ...]
) -> None:
    answers = read(labels)
    assert answers.classes == classes
    assert answers.y.dtype == torch.int64
    written = ["" if v != v else str(int(v)) for v in labels] if isinstance(labels, np.ndarray) else labels
    assert [classes[kind] if kind >= 0 else "" for kind in answers.y.tolist()] == [name.strip() for name in written]
    assert answers.notes[0] == "classes: " + ", ".join(f"{name!r} -> {number}" for number, name in enumerate(classes))


def test_one_number_that_is_not_whole_makes_all_of_them_values() -> None:
    answers = read(["1", "2.5", "", "-100"])
    assert (answers.classes, answers.outputs) == ((), ("label",))
    np.testing.assert_array_equal(answers.y, [[1], [2.5], [np.nan], [-100]])
    assert answers.known.tolist() == [True, True, False, True]
    assert "regression" in answers.notes[0]


def test_the_header_decides_otherwise() -> None:
    assert read(["1", "2", "1"], "label__number").outputs == ("label",)
    assert read(["1.5", "2.5", "1.5"], "label__category").classes == ("1.5", "2.5")
    assert read(["-100", "-1", "-1"], "label__category").classes == ("-1", "-100")
    with pytest.raises(InputError, match=r"nodes\.csv, line 3: label 'a' is not a finite number"):
        read(["1", "a", "2"], "label__number")


def test_a_blank_is_no_label_and_counted() -> None:
    answers = read(["a", "", "b", " "])
    assert answers.y.tolist() == [0, -1, 1, -1]
    assert answers.known.tolist() == [True, False, True, False]
    assert "2 of 4 targets have no label, so they are in no part" in answers.notes


def test_columns_of_zeros_and_ones_are_yes_and_no_and_others_are_values() -> None:
    yes_no = read(np.array([[0, 1], [1, 1]]))
    assert (yes_no.multilabel, yes_no.outputs) == (True, ("y0", "y1"))
    values = read(np.array([[0.5, 1], [np.nan, 1], [np.nan, np.nan]]))
    assert values.multilabel is False
    assert values.known.tolist() == [True, True, False]
    assert read(np.array([[0.0], [1.0]])).multilabel is False


MODEL = {"classes": ["a", "b", "c"], "outputs": []}


def test_under_a_model_its_classes_hold_whatever_the_file_has() -> None:
    assert read(["c", "", "c"], model=MODEL).y.tolist() == [2, -1, 2]
    numbered = {"classes": ["1", "2"], "outputs": []}
    assert read(np.array([2.0, 1.0, np.nan]), model=numbered).y.tolist() == [1, 0, -1]
    valued = {"classes": [], "outputs": ["label"]}
    assert read(["1", "2", "3"], model=valued).y.tolist() == [[1], [2], [3]]
    with pytest.raises(InputError, match=r"nodes\.csv, line 3: label 'd' is none of the classes.*known: a, b, c"):
        read(["c", "d", "c"], model=MODEL)


@pytest.mark.parametrize(
    "names", [("train", "valid", "test"), ("Train", "val", "TEST"), ("TRAIN ", "validation", "test")]
)
def test_parts_go_by_several_names(names: Sequence[str]) -> None:
    made = table(label=list("aabbab"), split=[*names, "", names[0], names[0]])
    split, name, notes = read_split(made, np.ones(6, dtype=bool), (0.6, 0.2, 0.2), seed=0)
    assert {part: ids.tolist() for part, ids in split.items()} == {"train": [0, 4, 5], "valid": [1], "test": [2]}
    assert (name, notes) == ("own", ("split as the files say",))


def test_a_target_with_a_part_and_no_label_is_in_no_part_and_that_is_said() -> None:
    made = table(label=["a", "b", "a", ""], split=["train", "valid", "test", "test"])
    split, _, notes = read_split(made, np.array([True, True, True, False]), (0.6, 0.2, 0.2), seed=0)
    assert split["test"].tolist() == [2]
    assert "1 target(s) have a split but no label, so they are in no part" in notes


def test_a_blank_column_of_parts_is_none() -> None:
    made = table(label=list("abab"), split=["", " ", "", ""])
    assert read_split(made, np.ones(4, dtype=bool), (0.6, 0.2, 0.2), seed=0)[1] == "random"


@given(st.lists(st.booleans(), min_size=3, max_size=60).filter(lambda known: sum(known) > 2), st.integers(0, 2**32))
def test_a_drawn_split_is_of_all_labelled_targets_and_of_no_other(known: list[bool], seed: int) -> None:
    made = table(label=["a" if one else "" for one in known])
    split, name, _ = read_split(made, np.array(known), (0.6, 0.2, 0.2), seed)
    assert name == "random"
    assert sorted(torch.cat(list(split.values())).tolist()) == np.flatnonzero(known).tolist()
    assert all(len(ids) for ids in split.values())

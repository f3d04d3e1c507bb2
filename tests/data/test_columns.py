"""Columns become features by a scheme that is learnt on the training rows alone and does the same to any later file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engnn.data.columns import LISTED, MAX_LEVELS, check_scheme, described, encode, fit, numbers, texts
from engnn.errors import InputError

PLACE = "row {}".format
TRAIN = np.array([True, True, True, True, False, False])
AGES = ["20", "40", "", "30", "90", ""]
TOWNS = ["Rome", "Bonn", "", "Rome", "Oslo", "Bonn"]


def made(
    columns: Mapping[str, Any], rows: np.ndarray = TRAIN, **forced: str
) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    scheme = fit(columns, rows, PLACE, forced)
    values, notes = encode(columns, scheme, PLACE, "people")
    assert values is not None
    return scheme, values, notes


def test_a_number_is_standardised_by_the_training_rows_and_a_missing_one_is_their_mean() -> None:
    scheme, values, notes = made({"age": AGES})
    std = np.std([20, 40, 30])
    assert scheme == [{"column": "age", "kind": "number", "mean": 30.0, "std": pytest.approx(std)}]
    np.testing.assert_allclose(values[:, 0], np.array([-10, 10, 0, 0, 60, 0]) / std, rtol=1e-6)
    assert notes == ("people, column 'age': 2 missing value(s) set to the mean",)


def test_a_category_is_one_hot_by_the_training_rows_and_an_unknown_one_is_zeros() -> None:
    scheme, values, notes = made({"town": TOWNS})
    assert scheme == [{"column": "town", "kind": "category", "levels": ["", "Bonn", "Rome"]}]
    levels = {"": [1, 0, 0], "Bonn": [0, 1, 0], "Rome": [0, 0, 1], "Oslo": [0, 0, 0]}
    assert values.tolist() == [levels[town] for town in TOWNS]
    assert notes == ("people, column 'town': 1 value(s) that the training part lacks set to zeros ('Oslo')",)


def test_a_missing_category_that_training_never_saw_is_zeros_too() -> None:
    _, values, notes = made({"town": ["Rome", "Bonn", "Rome", "Bonn", "", "Rome"]})
    assert values[4].tolist() == [0, 0]
    assert "(missing)" in notes[0]


@given(
    st.lists(st.integers(-1000, 1000), min_size=6, max_size=6),
    st.lists(st.sampled_from(["Rome", "Bonn", "Oslo", ""]), min_size=6, max_size=6),
    st.data(),
)
def test_what_is_not_in_the_training_part_changes_no_feature_of_what_is(
    ages: list[int], towns: list[str], data: st.DataObject
) -> None:
    one = {"age": [str(age) for age in ages], "town": towns}
    other = {name: list(values) for name, values in one.items()}
    for row in np.flatnonzero(~TRAIN).tolist():
        other["age"][row] = str(data.draw(st.integers(-(10**6), 10**6)))
        other["town"][row] = data.draw(st.sampled_from(["Rome", "Bonn", "Kyiv", "Lima"]))
    schemes = [fit(columns, TRAIN, PLACE, {}) for columns in (one, other)]
    assert schemes[0] == schemes[1]
    first, second = (encode(columns, schemes[0], PLACE, "people")[0] for columns in (one, other))
    if first is not None and second is not None:
        np.testing.assert_array_equal(first[TRAIN], second[TRAIN])


def test_a_scheme_that_was_saved_makes_the_same_features_of_the_same_rows_in_another_file() -> None:
    columns = {"age": AGES, "town": TOWNS, "code:number": ["1"] * 6}
    scheme, values, _ = made(columns)
    saved = json.loads(json.dumps(scheme))
    check_scheme(saved)
    order = [4, 1, 1, 0]
    later = {name: [columns[name][row] for row in order] for name in reversed(columns)} | {"extra": ["x"] * 4}
    again, notes = encode(later, saved, PLACE, "new.csv")
    np.testing.assert_array_equal(again, values[order])
    assert "new.csv: not used, since the model was trained without: extra" in notes


def test_blocks_are_taken_as_they_are() -> None:
    block = np.arange(12.0).reshape(6, 2)
    scheme, values, notes = made({"x": block})
    assert scheme == [{"column": "x", "kind": "block", "width": 2}]
    np.testing.assert_array_equal(values, block)
    assert notes == ()


def test_what_never_varies_in_training_is_left_out_whatever_comes_later() -> None:
    columns = {"age": ["7", "7", "", "7", "8", "9"], "town": ["Rome"] * 4 + ["Oslo", ""], "none": [""] * 6}
    scheme = fit(columns, TRAIN, PLACE, {})
    assert [entry["kind"] for entry in scheme] == ["constant"] * 3
    assert encode(columns, scheme, PLACE, "people")[0] is None
    assert described(scheme, "people") == (
        "people, columns the same in the whole training part, so left out: age, town, none",
    )


def test_numbers_that_differ_by_rounding_alone_are_constant_and_others_are_not() -> None:
    large = np.array([1e15, 1e15 + 0.125, 1e15, 1e15, 0, 0])
    assert fit({"a": large}, TRAIN, PLACE, {})[0]["kind"] == "constant"
    assert fit({"a": large - 1e15}, TRAIN, PLACE, {})[0]["kind"] == "number"


def test_a_name_says_how_a_column_is_to_be_read() -> None:
    codes = {"code": ["1", "2", "1", "2", "3", ""]}
    assert fit(codes, TRAIN, PLACE, {})[0]["kind"] == "number"
    assert fit(codes, TRAIN, PLACE, {"code": "category"})[0]["levels"] == ["1", "2"]
    with pytest.raises(InputError, match="row 0: code 'a' is not a finite number"):
        fit({"code": ["a"] * 6}, TRAIN, PLACE, {"code": "number"})


def test_a_category_is_the_same_text_from_whichever_file_it_comes() -> None:
    assert texts(np.array([1.0, 2.5, np.nan, -3.0])) == texts(["1", "2.5", "", "-3"]) == ["1", "2.5", "", "-3"]
    scheme = fit({"code": ["1", "2", "1", "2", "1", "1"]}, TRAIN, PLACE, {"code": "category"})
    values, _ = encode({"code": np.array([2.0, 1.0, np.nan])}, scheme, PLACE, "new.parquet")
    assert values is not None
    assert values.tolist() == [[0, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1", "2", "inf"], "row 2: age 'inf' is not a finite number, and 2 other"),
        (["1", "2", "NaN"], "row 2: age 'NaN' is not a finite number"),
        (["1", "2", "NA"], "row 2: age 'NA' is not a finite number"),
        (["1", "1_000", "3"], "row 1: age '1_000' is not a finite number"),
        (["1", "٣", "3"], "row 1: age '٣' is not a finite number"),
        (["1,5", "2,5"], "row 0: age '1,5' has a decimal comma"),
        (["1", "2e18"], r"row 1: age 2e\+18 is beyond ±1e\+18"),
        (np.array([1.0, np.inf]), "row 1: age inf is not a finite number"),
        (np.array([1.0, -1e38]), r"row 1: age -1e\+38 is beyond"),
    ],
)
def test_a_damaged_column_of_numbers_is_refused_by_its_row_and_value(values: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        numbers("age", values, PLACE)


@pytest.mark.parametrize("values", [["a", "b"], ["1", "a", "b", "c"], ["2020-01-01", "2021-01-01"], ["1a", "2b"]])
def test_text_is_a_category(values: list[str]) -> None:
    assert numbers("town", values, PLACE) is None


@given(st.lists(st.one_of(st.just(""), st.floats(-1e18, 1e18).map(repr), st.integers(-(10**9), 10**9).map(str))))
def test_numbers_are_those_that_were_written(values: list[str]) -> None:
    found = numbers("age", values, PLACE)
    assert found is not None
    np.testing.assert_array_equal(found, [float(value) if value else np.nan for value in values])


def test_names_are_no_categories() -> None:
    rows = np.ones(40, dtype=bool)
    with pytest.raises(InputError, match=r"'name' is text with 40 different values on 40 training rows.*name:category"):
        fit({"name": [f"n{i}" for i in range(40)]}, rows, PLACE, {})
    assert len(fit({"name": [f"n{i}" for i in range(40)]}, rows, PLACE, {"name": "category"})[0]["levels"]) == 40
    assert fit({"town": [f"n{i % 20}" for i in range(40)]}, rows, PLACE, {})[0]["kind"] == "category"


def test_a_category_of_very_many_levels_is_refused() -> None:
    values = [f"n{i // 3}" for i in range(3 * MAX_LEVELS + 3)]
    with pytest.raises(InputError, match=f"{MAX_LEVELS + 1} different values, and a category may have {MAX_LEVELS}"):
        fit({"name": values}, np.ones(len(values), dtype=bool), PLACE, {})


def test_a_number_far_from_those_of_training_is_refused() -> None:
    scheme = fit({"age": ["1", "1.0000001"]}, np.array([True, True]), PLACE, {})
    with pytest.raises(InputError, match=r"row 1: age 1e\+17 is too far from the training part's mean 1"):
        encode({"age": ["1", "1e17"]}, scheme, PLACE, "new.csv")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ages": ["1"], "town": ["Rome"]}, r"new.csv has no column 'age'.*did you mean 'ages'"),
        ({"age": ["old"], "town": ["Rome"]}, "row 0: age 'old' is not a finite number"),
        ({"age": np.ones((1, 3)), "town": ["Rome"]}, r"'age' is an array of 3 column\(s\).*trained with a number"),
        ({"age": ["1"], "town": np.ones((1, 1))}, r"'town' is an array of 1 column\(s\).*trained with a category"),
    ],
)
def test_a_file_that_does_not_fit_the_scheme_is_refused(columns: Mapping[str, Any], said: str) -> None:
    scheme = fit({"age": AGES, "town": TOWNS}, TRAIN, PLACE, {})
    with pytest.raises(InputError, match=said):
        encode(columns, scheme, PLACE, "new.csv")


@pytest.mark.parametrize("values", [np.ones((1, 3)), np.ones(1), ["1"]])
def test_a_block_of_another_width_is_refused(values: Any) -> None:
    scheme = fit({"x": np.ones((6, 2))}, TRAIN, PLACE, {})
    with pytest.raises(InputError, match=r"'x' has . column.*trained with 2"):
        encode({"x": values}, scheme, PLACE, "new.npz")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "nonsense"},
        {"mean": "1"},
        {"mean": float("nan")},
        {"std": 0.0},
        {"std": None},
        {"column": 3},
        {"kind": "category"},
        {"kind": "category", "levels": ["a", 3]},
        {"kind": "category", "levels": ["a", "a"]},
        {"kind": "block"},
    ],
)
def test_a_damaged_scheme_is_refused(change: Mapping[str, Any]) -> None:
    sound = {"column": "age", "kind": "number", "mean": 1.0, "std": 2.0}
    check_scheme([sound])
    with pytest.raises(InputError, match=r"scheme is damaged.*save the model again"):
        check_scheme([sound, {**sound, **change}])
    with pytest.raises(InputError, match="scheme is damaged"):
        check_scheme("text")


def test_a_note_names_a_few_columns_and_counts_the_rest() -> None:
    scheme = fit({f"c{i}": ["1", "2"] for i in range(LISTED + 5)}, np.ones(2, dtype=bool), PLACE, {})
    (note,) = described(scheme, "people")
    assert note.endswith(f"c{LISTED - 1}, and 5 more")

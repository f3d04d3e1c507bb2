"""Columns of numbers and of categories become features, by a scheme that is saved with the model.

A scheme is learnt on the training rows alone and is plain JSON: a list with one entry for each column. `encode` does to
any later file what was done to the first, so that a model sees what it was trained on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engnn.errors import InputError, nearest

Values = list[str] | NDArray[Any]
Place = Callable[[int], str]
Scheme = list[dict[str, Any]]

LARGEST: Final = 1e18  # the square of anything larger is not a float32
FEW: Final = 20  # more different values than this, fewer than two rows each, are names and no categories
LISTED: Final = 20  # columns that a note names
MAX_LEVELS: Final = 1000
MAX_CELLS: Final = 1 << 29  # 2 GiB of float32
CONSTANT: Final = 1e-12  # a spread below this share of the mean is rounding


def fit(columns: Mapping[str, Values], rows: NDArray[np.bool_], place: Place, forced: Mapping[str, str]) -> Scheme:
    """The scheme of these columns, its means and levels taken from `rows` (a mask: the training part) only.

    `forced` names the columns that are to be read as `number` or as `category` whatever they look like.

    >>> columns = {"age": ["20", "40", "90"], "town": ["Bonn", "", "Rome"]}
    >>> for entry in fit(columns, np.array([True, True, False]), "row {}".format, {}):
    ...     print(entry)
    {'column': 'age', 'kind': 'number', 'mean': 30.0, 'std': 10.0}
    {'column': 'town', 'kind': 'category', 'levels': ['', 'Bonn']}
    """
    return [_fitted(name, values, rows, place, forced.get(name)) for name, values in columns.items()]


def encode(
    columns: Mapping[str, Values], scheme: Sequence[Mapping[str, Any]], place: Place, where: str
) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
    """The features `[rows, width]` of columns under a scheme (None where it makes none), and what to tell the user.

    A missing number becomes the mean; a category that the scheme does not know becomes zeros.

    >>> scheme = [{"column": "age", "kind": "number", "mean": 30.0, "std": 10.0}]
    >>> x, notes = encode({"age": ["50", ""]}, scheme, "row {}".format, "people")
    >>> x.tolist(), notes
    ([[2.0], [0.0]], ("people, column 'age': 1 missing value(s) set to the mean",))
    """
    blocks: list[NDArray[np.float32]] = []
    notes: list[str] = []
    for entry in scheme:
        name = entry["column"]
        if name not in columns:
            hint = f"; {nearest(name, columns)}" if columns else ""
            raise InputError(f"{where} has no column {name!r}, which the model was trained with{hint}")
        values = columns[name]
        if isinstance(values, np.ndarray) and values.ndim == 2 and entry["kind"] != "block":
            raise InputError(
                f"{where}: {name!r} is an array of {values.shape[1]} column(s), taken as they are, and the model was "
                f"trained with a {entry['kind']} of that name: give it in the form that it had then"
            )
        block, told = _ENCODERS[entry["kind"]](values, entry, place)
        if told:
            notes.append(f"{where}, column {name!r}: {told}")
        if block is not None:
            blocks.append(block)
    if unused := list(columns.keys() - {entry["column"] for entry in scheme}):
        notes.append(f"{where}: not used, since the model was trained without: {_listed(sorted(unused))}")
    if not blocks:
        return None, tuple(notes)
    width = sum(block.shape[1] for block in blocks)
    if width * len(blocks[0]) > MAX_CELLS:
        raise InputError(f"{where}: {len(blocks[0])} rows of {width} features are too many: leave out columns")
    return np.concatenate(blocks, axis=1), tuple(notes)


def check_scheme(scheme: object) -> None:
    """Raise `InputError` unless it is a scheme, as `fit` makes them: it comes back from a model's file.

    >>> check_scheme([{"column": "age", "kind": "number", "mean": 30.0}])
    Traceback (most recent call last):
    engnn.errors.InputError: the model's scheme is damaged at {'column': 'age', 'kind': 'number', 'mean': 30.0}: ...
    """
    for entry in scheme if isinstance(scheme, list) else [scheme]:
        match entry:
            case {"kind": "number", "column": str(), "mean": float() | int() as mean, "std": float() | int() as std}:
                sound = math.isfinite(mean) and 0 < std < math.inf
            case {"kind": "category", "column": str(), "levels": [*levels]}:
                sound = all(isinstance(level, str) for level in levels) and len(set(levels)) == len(levels)
            case {"kind": "block", "column": str(), "width": int()} | {"kind": "constant", "column": str()}:
                sound = True
            case _:
                sound = False
        if not sound:
            raise InputError(f"the model's scheme is damaged at {entry!r:.200}: save the model again")


def described(scheme: Sequence[Mapping[str, Any]], where: str) -> tuple[str, ...]:
    """What a scheme does, in words."""
    told = {
        "number": "standardised by the training part: {}",
        "category": "one-hot: {}",
        "constant": "the same in the whole training part, so left out: {}",
        "block": "taken as they are: {}",
    }
    kinds: dict[str, list[str]] = {}
    for entry in scheme:
        more = f" ({len(entry['levels'])} levels)" if entry["kind"] == "category" else ""
        kinds.setdefault(entry["kind"], []).append(entry["column"] + more)
    return tuple(f"{where}, columns " + told[kind].format(_listed(names)) for kind, names in kinds.items())


def numbers(name: str, values: Values, place: Place, forced: str | None = None) -> NDArray[np.float64] | None:
    """A column as numbers, NaN where missing; None where it is one of categories.

    It is one of numbers where every value that is not blank is a finite number. Where half or more are and the rest
    are not, or the rest is `nan` or `inf`, the column is most likely damaged, and an error says where.

    >>> numbers("age", ["1", "", "2.5"], "line {}".format)
    array([1. , nan, 2.5])
    >>> numbers("age", ["1", "NA", "2.5"], "line {}".format)
    Traceback (most recent call last):
    engnn.errors.InputError: line 1: age 'NA' is not a finite number, and 2 other values of the column are. ...
    """
    if forced == "category":
        return None
    if isinstance(values, np.ndarray):
        found, wrong, infinite = values.astype(np.float64), np.flatnonzero(np.isinf(values)).tolist(), True
    else:
        found, wrong, infinite = _parsed(values)
    parsed = len(found) - int(np.isnan(found).sum())
    if wrong and (forced is not None or (parsed and (infinite or len(wrong) <= parsed))):
        raise InputError(
            f"{place(wrong[0])}: {name} {_shown(values[wrong[0]])} is not a finite number, and {parsed} other values "
            f"of the column are. Mend it, leave it blank if it is missing, or name the column '{name}:category' to "
            "read all of it as text"
        )
    if wrong and not parsed and all(_COMMA.fullmatch(value.strip()) for value in values):
        raise InputError(
            f"{place(wrong[0])}: {name} {values[wrong[0]]!r} has a decimal comma: write a point, or name the column "
            f"'{name}:category' to read it as text"
        )
    if wrong:
        return None
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.abs(found) > LARGEST)
    if len(large):
        raise InputError(
            f"{place(int(large[0]))}: {name} {found[large[0]]:g} is beyond ±{LARGEST:g}, too large to compute with: "
            "give it in another unit, or its logarithm; leave it blank if it is missing"
        )
    return found


def texts(values: Values) -> list[str]:
    """A column as text, '' where missing, without white space at the ends; whole numbers without a point."""
    if isinstance(values, list):
        return [value.strip() for value in values]
    return ["" if v != v else str(int(v)) if v == int(v) else repr(v) for v in values.astype(float).tolist()]


def _parsed(values: list[str]) -> tuple[NDArray[np.float64], list[int], bool]:
    """The numbers among texts (NaN: none), the rows that hold something else, and whether some of it is nan or inf."""
    found = np.full(len(values), np.nan)
    wrong: list[int] = []
    infinite = False
    for row, value in enumerate(values):
        try:
            number = float(value)
        except ValueError:
            if value.strip():
                wrong.append(row)
            continue
        if not math.isfinite(number):
            infinite = True
            wrong.append(row)
        elif "_" in value or not value.isascii():  # numbers to Python, and not to anybody else
            wrong.append(row)
        else:
            found[row] = number
    return found, wrong, infinite


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED]) + f", and {len(names) - LISTED} more" * (len(names) > LISTED)


def _shown(value: object) -> str:
    return f"{value!r:.60}" if isinstance(value, str) else f"{value}"


def _fitted(name: str, values: Values, rows: NDArray[np.bool_], place: Place, forced: str | None) -> dict[str, Any]:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return {"column": name, "kind": "block", "width": values.shape[1]}
    found = numbers(name, values, place, forced)
    if found is not None:
        known = found[rows & ~np.isnan(found)]
        mean, std = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
        if std <= CONSTANT * abs(mean):
            return {"column": name, "kind": "constant"}
        return {"column": name, "kind": "number", "mean": mean, "std": std}
    levels = sorted({value for value, used in zip(texts(values), rows.tolist(), strict=True) if used})
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"{place(0)}: column {name!r} is text with {len(levels)} different values, and a category may have "
            f"{MAX_LEVELS}: take it out, or make fewer or numbers of them"
        )
    if forced is None and len(levels) > FEW and 2 * len(levels) > rows.sum():
        raise InputError(
            f"{place(0)}: column {name!r} is text with {len(levels)} different values on {rows.sum()} training rows, "
            f"which tell rows apart and teach nothing: take it out, or name it '{name}:category' to keep it"
        )
    if len(levels) < 2:
        return {"column": name, "kind": "constant"}
    return {"column": name, "kind": "category", "levels": levels}


def _number(values: Values, entry: Mapping[str, Any], place: Place) -> tuple[NDArray[np.float32] | None, str]:
    found = numbers(entry["column"], values, place, "number")
    assert found is not None
    missing = np.isnan(found)
    scaled = np.where(missing, 0.0, (found - entry["mean"]) / entry["std"])
    if np.abs(scaled).max(initial=0.0) > LARGEST:
        row = int(np.abs(scaled).argmax())
        raise InputError(
            f"{place(row)}: {entry['column']} {found[row]:g} is too far from the training part's mean "
            f"{entry['mean']:g} ± {entry['std']:g} to compute with: mend it"
        )
    return scaled.astype(np.float32)[:, None], f"{missing.sum()} missing value(s) set to the mean" * bool(missing.any())


def _category(values: Values, entry: Mapping[str, Any], place: Place) -> tuple[NDArray[np.float32] | None, str]:
    index = {level: at for at, level in enumerate(entry["levels"])}
    codes = np.array([index.get(value, -1) for value in texts(values)], dtype=np.int64)
    if len(codes) * len(index) > MAX_CELLS:
        raise InputError(
            f"column {entry['column']!r}: {len(codes)} rows of {len(index)} categories are too many: use fewer"
        )
    block = np.zeros((len(codes), len(index)), dtype=np.float32)
    known = np.flatnonzero(codes >= 0)
    block[known, codes[known]] = 1.0
    unknown = Counter(value for value, code in zip(texts(values), codes.tolist(), strict=True) if code < 0)
    shown = ", ".join(repr(value) if value else "missing" for value, _ in unknown.most_common(3))
    return block, f"{unknown.total()} value(s) that the training part lacks set to zeros ({shown})" * bool(unknown)


def _block(values: Values, entry: Mapping[str, Any], place: Place) -> tuple[NDArray[np.float32] | None, str]:
    if isinstance(values, list) or values.ndim != 2 or values.shape[1] != entry["width"]:
        width = values.shape[1] if isinstance(values, np.ndarray) and values.ndim == 2 else 1
        raise InputError(
            f"{entry['column']!r} has {width} column(s), and the model was trained with {entry['width']}: give as many"
        )
    return values.astype(np.float32), ""


def _constant(values: Values, entry: Mapping[str, Any], place: Place) -> tuple[NDArray[np.float32] | None, str]:
    return None, ""


_COMMA: Final = re.compile(r"([+-]?[0-9]+,[0-9]+)?")
_ENCODERS = {"number": _number, "category": _category, "block": _block, "constant": _constant}

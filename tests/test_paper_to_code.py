from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "paper-to-code.md"
EQUATIONS, TABLES = range(1, 71), range(1, 11)  # as LaTeX counts them in the paper
STATEMENTS = ["Theorem 3.1", "Proposition 3.2", "Proposition 3.3"]
STATEMENTS += ["Proposition 4.1", "Proposition 4.2", "Theorem 4.3", "Theorem 4.4"]


class Place(NamedTuple):
    path: str
    symbol: str
    mark: str  # a comment in it, or nothing


def places(text: str) -> list[Place]:
    """What is referred to as `path::symbol`, or as `path::symbol` at "comment"."""
    return [Place(*found) for found in re.findall(r'`([\w./-]+\.py)::([\w.]+)`(?: at "([^"]+)")?', text)]


@cache
def definitions(path: Path) -> dict[str, str]:
    """The source of every function, class and constant of a file, by its dotted name."""
    text = path.read_text(encoding="utf-8")
    found: dict[str, str] = {}

    def add(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            for name in names:
                found[prefix + name] = "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{prefix}{node.name}.")

    add(ast.parse(text).body, "")
    return found


def missing(place: Place) -> str:
    """What of a place is not there; nothing when it is."""
    path = ROOT / place.path
    if not path.is_file():
        return f"there is no file {place.path}"
    if place.symbol not in definitions(path):
        return f"{place.path} has no {place.symbol}"
    comments = [line.partition("#")[2] for line in definitions(path)[place.symbol].splitlines()]
    if place.mark and not any(place.mark in comment for comment in comments):
        return f"{place.path}::{place.symbol} has no comment with {place.mark!r}"
    return ""


def test_every_place_that_is_named_is_there() -> None:
    named = places(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 80
    assert [said for said in map(missing, named) if said] == []


def test_every_reference_is_one_that_the_test_can_read() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("::") == len(places(text))
    assert text.count('` at "') == sum(bool(place.mark) for place in places(text))


def test_every_number_of_the_paper_has_a_row() -> None:
    rows = [row.split("|")[1] for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    equations: set[int] = set()
    for first, last in re.findall(r"\((\d+)\)(?:–\((\d+)\))?", "\n".join(row for row in rows if "(as (" not in row)):
        equations |= set(range(int(first), int(last or first) + 1))
    assert equations == set(EQUATIONS)
    assert [name for name in STATEMENTS if not any(name in row for row in rows)] == []
    assert [n for n in TABLES if not any(re.search(rf"Table {n}\b", row) for row in rows)] == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (Place("src/engnn/nn/novel.py", "ENConv", ""), "there is no file src/engnn/nn/novel.py"),
        (Place("src/engnn/nn/conv.py", "NoConv", ""), "src/engnn/nn/conv.py has no NoConv"),
        (Place("src/engnn/nn/conv.py", "ENConv.backward", ""), "src/engnn/nn/conv.py has no ENConv.backward"),
        (Place("src/engnn/nn/conv.py", "ENConv.forward", "x⁷"), "ENConv.forward has no comment with 'x⁷'"),
    ],
)
def test_a_place_that_is_not_there_is_told(place: Place, said: str) -> None:
    assert missing(place).endswith(said)

"""Who may import whom: what stands lower in LAYERS, and nothing beside or above. Imports inside functions count too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import engnn

SOURCE = Path(engnn.__file__).parent
LAYERS: list[set[str]] = [
    {"__init__", "__main__"},
    {"cli"},
    {"reproduce"},
    {"bench"},  # it measures the loop, and so stands above it
    {"report", "train"},
    {"tasks", "boosting"},
    {"nn", "baselines", "data"},
    {"parts"},
    {"sets"},
    {"noise", "kernels"},
    {"folders"},
    {"errors"},
]
ALONE = {"reference", "testing"}  # they import nothing of engnn, and nothing of engnn imports them
DATA = {"recipes"}  # folders without code

HEIGHT = {unit: -layer for layer, units in enumerate(LAYERS) for unit in units}


def unit_of(path: Path, source: Path) -> str:
    """The module or folder directly under the package that a file is or belongs to."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def imported(node: ast.AST, path: Path, source: Path) -> Iterator[str]:
    """The modules that one node of a syntax tree imports: by a statement, or by a name given as a string."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = ["engnn", *path.relative_to(source).parts[:-1]]
        module = ".".join([*package[: len(package) - node.level + 1], node.module or ""]) if node.level else node.module
        yield from (f"{module}.{alias.name}".replace("..", ".") for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"engnn(\.\w*)+", node.value):
        yield node.value


def arrows(source: Path) -> Iterator[tuple[str, str, str]]:
    """(from, to, where) for each import of one unit of the package by another."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for module in imported(node, path, source):
                first, _, rest = module.partition(".")
                to = rest.partition(".")[0]
                inside = (source / to).is_dir() or (source / f"{to}.py").exists()
                if first == "engnn" and to and inside and to != unit_of(path, source):
                    yield unit_of(path, source), to, f"{path.relative_to(source)}:{getattr(node, 'lineno', 0)}"


def wrong(source: Path) -> list[str]:
    """Arrows that do not lead down, and modules of which LAYERS does not know where they stand."""
    units = {unit_of(path, source) for path in source.rglob("*.py")}
    found = [f"{unit}: say in LAYERS where it stands" for unit in sorted(units - HEIGHT.keys() - ALONE - DATA)]
    for start, to, where in arrows(source):
        if start in ALONE or to in ALONE or HEIGHT.get(start, 0) <= HEIGHT.get(to, 0):
            found.append(f"{where}: {start} imports {to}")
    return found


def test_imports_lead_down_only() -> None:
    assert wrong(SOURCE) == []


def test_the_arrows_of_the_design_are_there() -> None:
    """That no arrow is wrong must not be because none is seen."""
    seen = {(start, to) for start, to, _ in arrows(SOURCE)}
    assert {("cli", "train"), ("train", "tasks"), ("train", "nn"), ("tasks", "data"), ("nn", "noise")} <= seen
    assert ("__init__", "nn") in seen  # which is imported lazily, by a name in a string


def test_the_oracle_and_the_asserts_stand_alone() -> None:
    assert not {start for start, _, _ in arrows(SOURCE)} & ALONE


@pytest.mark.parametrize(
    ("path", "code", "told"),
    [
        ("nn/conv.py", "from engnn.data import catalog", "nn imports data"),
        ("nn/conv.py", "import engnn.baselines.gcn", "nn imports baselines"),
        ("nn/conv.py", "from engnn import train", "nn imports train"),
        ("nn/conv.py", "from ..tasks import node", "nn imports tasks"),
        ("nn/conv.py", "from .. import tasks", "nn imports tasks"),
        ("noise.py", "from engnn.sets import Sets", "noise imports sets"),
        ("noise.py", "from . import sets", "noise imports sets"),
        ("data/csv.py", "def read():\n    from engnn.tasks import metrics", "data imports tasks"),
        ("data/csv.py", "def read():\n    return import_module('engnn.train.loop')", "data imports train"),
        ("data/csv.py", "def read(name):\n    return import_module(f'engnn.tasks.{name}')", "data imports tasks"),
        ("tasks/node.py", "if TYPE_CHECKING:\n    from engnn.train.config import Config", "tasks imports train"),
        ("report/page.py", "from engnn.train import record", "report imports train"),
        ("train/run.py", "from engnn.reproduce import table", "train imports reproduce"),
        ("nn/model.py", "from engnn.testing import Case", "nn imports testing"),
        ("novelty.py", "", "novelty: say in LAYERS where it stands"),
    ],
)
def test_an_arrow_that_does_not_lead_down_is_found(path: str, code: str, told: str, tmp_path: Path) -> None:
    for unit in ("nn", "data", "baselines", "tasks", "train", "report", "reproduce"):
        (tmp_path / unit).mkdir()
        (tmp_path / unit / "__init__.py").touch()
    for unit in ("noise", "sets", "testing"):
        (tmp_path / f"{unit}.py").touch()
    (tmp_path / path).write_text(code, encoding="utf-8")
    (line,) = wrong(tmp_path)
    assert line.endswith(told)


def test_arrows_that_lead_down_are_not_told(tmp_path: Path) -> None:
    (tmp_path / "nn").mkdir()
    (tmp_path / "noise.py").touch()
    (tmp_path / "nn" / "model.py").write_text(
        "from engnn import __version__, noise\nfrom .conv import ENConv\nimport engnn.nn.conv\nimport torch.noise\n"
    )
    assert wrong(tmp_path) == []

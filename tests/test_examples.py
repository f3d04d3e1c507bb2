"""Each example runs and is short; the quickest is seen to learn what it says, and not to without noise."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

VARIANTS = {"engnn", "mpnn", "nmpnn"}
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("name", ["node", "link", "subgraph", "graph"])
def test_an_example_runs_and_is_short(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text().splitlines()) <= 60
    assert 0 <= runpy.run_path(str(path))["main"](steps=3) <= 1


def test_the_example_of_nodes_learns_with_the_noise_and_not_without() -> None:
    main = runpy.run_path(str(EXAMPLES / "node.py"))["main"]
    assert main(steps=100) > 0.9
    assert main(steps=100, variant="mpnn") < 0.75


def test_the_demo_runs_and_ends_with_its_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py", "--epochs", "1", "--graphs", "32"])
    runpy.run_path(str(EXAMPLES / "demo.py"), run_name="__main__")
    said = capsys.readouterr()
    rows = {line.split(",")[0]: line.split()[-2:] for line in said.out.splitlines() if line.split(",")[0] in VARIANTS}
    assert set(rows) == VARIANTS
    assert all(0 < float(error) < 10 for row in rows.values() for error in row)
    assert "epoch 1/1" in said.err

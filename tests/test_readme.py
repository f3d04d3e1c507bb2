"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from engnn.cli import main

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/index.md"]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_one_after_the_other(page: str) -> None:
    found = blocks(page, "python")
    assert found
    namespace: dict[str, object] = {}
    for block in found:
        exec(compile(block, page, "exec"), namespace)


def test_the_commands_run_one_after_the_other_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [
        shlex.split(line)[1:]
        for block in blocks("README.md", "sh")
        for line in block.splitlines()
        if line[:6] == "engnn "
    ]
    assert len(calls) >= 5
    for call in calls:
        assert main(call) == 0, call
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "predictions.csv").read_text().startswith("id,")


def test_the_targets_that_are_named_are_in_the_makefile() -> None:
    named = set(
        re.findall(
            r"`?make (\w[\w-]*)", "".join((ROOT / page).read_text() for page in ("README.md", "CONTRIBUTING.md"))
        )
    )
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    assert {"demo", "test", "docs"} <= named
    assert named <= made


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{one.name}" for one in (ROOT / "docs").glob("*.md"))]
)
def test_links_to_files_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", text):
        assert ((ROOT / page).parent / link).exists(), link

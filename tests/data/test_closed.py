"""Files and folders that are closed to the user are one error each, and a closed cache is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engnn.data import files
from engnn.errors import InputError
from engnn.folders import cache_folder

NOBODY = 65534
SINGLE = ("g.json", "g.json.gz", "g.graphml", "g.npz")
# the administrator may read everything: then the check is made as another user, once all modules are read
CHECK = f"""
import os, sys
import encodings.utf_8_sig, pyarrow.parquet
from engnn.cli import main
from engnn.data import catalog, own
catalog.sources()
if os.getuid() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
for argv in sys.argv[1:]:
    print(main(argv.split()), flush=True)
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter, unlike `tmp_path`."""
    folder = Path(tempfile.mkdtemp(prefix="engnn-closed-"))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no closed files")
def test_what_is_closed_to_the_user_is_told_and_ends_with_2(open_to_all: Path) -> None:
    for name in ("csv", "parquet", "entered"):
        (open_to_all / name).mkdir()
    closed = [open_to_all / "csv" / "edges.csv", open_to_all / "parquet" / "edges.parquet"]
    closed += [open_to_all / name for name in SINGLE]
    for path in closed:
        path.write_bytes(b"source,target\na,b\n")
        path.chmod(0)
    (open_to_all / "entered" / "edges.csv").write_bytes(b"source,target\na,b\n")
    (open_to_all / "entered").chmod(0)
    asked = [open_to_all / "csv", open_to_all / "parquet", *(open_to_all / name for name in SINGLE)]
    asked += [open_to_all / "entered", open_to_all / "entered" / "g.json", open_to_all / "entered" / "any"]
    environment = os.environ | {"ENGNN_DATA": str(open_to_all), "ENGNN_CACHE": str(open_to_all / "entered" / "cache")}
    calls = [*(f"data check {path}" for path in asked), "data list --json", "data info density-generated"]
    command = [sys.executable, "-c", CHECK, *calls]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", check=False)
    assert "Traceback" not in ended.stderr, ended.stderr
    *codes, list_code, info_code = [line for line in ended.stdout.splitlines() if line.isdigit()]
    assert codes == ["2"] * len(asked)
    assert (list_code, info_code) == ("0", "0")  # with neither raw files nor a cache, which is said
    assert "cannot be written (Permission denied): data are parsed anew each time" in ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith("engnn: ")]
    assert len(said) == len(asked)
    for line, path in zip(said, [*closed, *asked[len(closed) :]], strict=True):
        assert line.startswith(f"engnn: {path}")
        assert "Permission denied" in line or "is not there" in line


def test_a_current_folder_that_is_gone_is_no_place_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise FileNotFoundError

    expected = files.roots()
    monkeypatch.setattr(files.Path, "cwd", gone)
    assert set(files.roots()) <= set(expected)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("ENGNN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(files.Path, "home", homeless)
    with pytest.raises(InputError, match=r"no home folder.*set ENGNN_CACHE"):
        cache_folder()

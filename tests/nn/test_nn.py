"""The package as a whole: short enough to be read in one sitting."""

from __future__ import annotations

from pathlib import Path

import engnn.nn


def test_all_of_nn_has_at_most_700_lines() -> None:
    files = list(Path(engnn.nn.__file__).parent.rglob("*.py"))
    assert {"deep_set.py", "aggregator.py", "conv.py", "readout.py", "model.py"} <= {file.name for file in files}
    assert sum(len(file.read_text().splitlines()) for file in files) <= 700

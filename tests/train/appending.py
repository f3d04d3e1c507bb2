"""A program that adds fifty long lines to a file that others are adding to."""

import json
from pathlib import Path

from engnn.train.durable import append_line

path, writer = ARGUMENTS  # type: ignore[name-defined]  # noqa: F821
for number in range(50):
    append_line(Path(path), json.dumps({"writer": int(writer), "number": number, "text": "x" * 10_000}))

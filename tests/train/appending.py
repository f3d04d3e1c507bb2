"""A program that adds fifty long lines to a file that others are adding to."""

import json
import sys
from pathlib import Path

from engnn.train.durable import append_line

if __name__ == "__main__":
    path, writer = sys.argv[1:]
    for number in range(50):
        append_line(Path(path), json.dumps({"writer": int(writer), "number": number, "text": "x" * 10_000}))

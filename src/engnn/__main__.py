"""`python -m engnn` is the command `engnn`."""

from __future__ import annotations

import sys

from engnn.cli import main

if __name__ == "__main__":
    sys.exit(main())

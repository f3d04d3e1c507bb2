"""The one error that a user can mend."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """The input or the call is wrong; the message says what, where, and how to mend it (exit code 2, no traceback).

    It is one line: what a file holds and no terminal should get to see is written as an escape.

    >>> print(InputError("column '\\x1b[2J' is not known"))
    column '\\x1b[2J' is not known
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word nearest to `word`, or lists them all.

    >>> nearest("coar", ["cora", "pubmed"])
    "did you mean 'cora'?"
    >>> nearest("xyz", ["cora", "pubmed"])
    'known: cora, pubmed'
    """
    known = sorted(known)
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"


class Stopped(Exception):
    """A signal asked for the end, and what is needed to go on is saved (exit code 3); `again` says how to."""

    def __init__(self, again: str = "the same call with --resume") -> None:
        super().__init__(again)

"""How a run goes, for whoever looks on: one line that changes on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from engnn.train.config import Config
    from engnn.train.loop import Progress, Row

LINES = 20  # at most so many, where the output is no terminal
PAUSE = 0.1  # seconds between two changes of the line


class Printed:
    """Loss, score, speed and time left, on stderr."""

    def __init__(self, config: Config, metric: str, out: TextIO | None = None) -> None:
        self.epochs, self.metric, self.out = config.train.epochs, metric, out or sys.stderr
        self.live = self.out.isatty()
        self.began, self.steps, self.shown = time.monotonic(), 0, 0.0
        self.loss, self.score = "", ""

    def step(self, now: Progress, batches: int, loss: float) -> None:
        self.steps += 1
        at = time.monotonic()
        if not self.live or at - self.shown < PAUSE:
            return
        self.shown = at
        self._put(f"epoch {now.epoch + 1}/{self.epochs}", now.step, batches, f"loss {loss:.4g}")

    def epoch(self, row: Row) -> None:
        if row["valid"] is not None:
            self.score = f"valid {self.metric} {row['valid']:.4g} (best {row['best']:.4g})"
        every = max(1, self.epochs // LINES)
        if self.live or row["epoch"] in (1, self.epochs) or row["epoch"] % every == 0:
            self._put(
                f"epoch {row['epoch']}/{self.epochs}",
                row["step"],
                row["step"] // row["epoch"],
                f"loss {row['loss']:.4g}",
            )

    def end(self) -> None:
        """Leave the line as it is."""
        if self.live:
            print(file=self.out)

    def _put(self, where: str, step: int, batches: int, loss: str) -> None:
        speed = self.steps / max(time.monotonic() - self.began, 1e-9)
        left = max(0, self.epochs * batches - step) / max(speed, 1e-9)
        parts = [where, loss, self.score, f"{speed:.3g} steps/s", f"{duration(left)} left"]
        line = "  ".join(filter(None, parts))
        if self.live:
            print(f"\r\x1b[K{line[:200]}", end="", flush=True, file=self.out)
        else:
            print(line, flush=True, file=self.out)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(75), duration(8000)
    ('1 min 15 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

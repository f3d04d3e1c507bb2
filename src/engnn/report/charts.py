"""Charts as inline SVG. Colours and type come from the page's style, so that one chart serves light and dark.

Series differ by more than colour (dashes, fill against outline), and each chart carries its own description.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

WIDTH, HEIGHT = 380, 236
LEFT, RIGHT, TOP, BOTTOM = 54, 362, 32, 194
COLOURS = 8  # of which the page's style knows
MOST_POINTS = 1000  # drawn of a scatter
BINS = 20
TINY = 1e-290  # below, and powers of ten would underflow
_DASHES = ("", "7 3", "2 3", "9 3 2 3")

Numbers = NDArray[np.float64]
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`, with its ticks."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float, start: float, end: float) -> float:
        """Where `value` is drawn between `start` and `end`."""
        low, high, at = (math.log10(one) if self.log else one for one in (self.low, self.high, value))
        return start + (end - start) * (at - low) / (high - low)


def axis(label: str, values: Iterable[float], *, zero: bool = False, log: bool = False) -> Axis:
    """The axis over `values`, from 0 if `zero`; logarithmic where that is asked for and all are positive.

    >>> axis("epoch", [1, 48]).ticks
    (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    >>> axis("loss", [0.02, 3], log=True).ticks
    (0.01, 0.1, 1.0, 10.0)
    """
    found = [float(value) for value in values] or [0.0, 1.0]
    low, high = min(found), max(found)
    if log and low > TINY and high > low:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        every = max(1, (last - first) // 5)
        ticks = tuple(10.0**power for power in range(first, last + 1, every))
        return Axis(label, min(ticks[0], low), max(ticks[-1], high), ticks, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= max(1e-4 * size, TINY):  # closer than labels could tell
        room = size / 10 if size > TINY else 1.0
        low, high = (low, high + room) if zero else (low - room, high + room)
    unit = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(unit))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= unit * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Axis(label, min(ticks[0], low), max(ticks[-1], high), ticks)


def lines(
    series: Sequence[tuple[str, Points]], x: str, y: str, description: str, *, log: bool = False, log_x: bool = False
) -> Markup:
    """One line for each series, over the same axes; a lone point is a dot."""
    points = [point for _, line in series for point in line]
    across = axis(x, (point[0] for point in points), log=log_x)
    up = axis(y, (point[1] for point in points), log=log)
    canvas = _Canvas(across, up, description)
    for place, (_, line) in enumerate(series):
        if len(line) > 1:
            path = "M" + "L".join(canvas.at(*point) for point in _thin(line))
            canvas.path(path, f"line c{place % COLOURS}", dash=_DASHES[place // COLOURS % len(_DASHES)])
        else:
            canvas.path("".join(f"M{canvas.at(*point)}h0" for point in line), f"dots c{place % COLOURS}")
    return canvas.done()


def swatch(place: int, *, filled: bool = False) -> Markup:
    """The sign of a series in a legend."""
    svg = ET.Element("svg", {"class": "swatch", "viewBox": "0 0 26 10", "aria-hidden": "true"})
    mark = {"class": f"{'area' if filled else 'line'} c{place % COLOURS}", "d": "M1 9V1H25V9Z" if filled else "M1 5H25"}
    if dash := _DASHES[place // COLOURS % len(_DASHES)]:
        mark["stroke-dasharray"] = dash
    ET.SubElement(svg, "path", mark)
    return _markup(svg)


def scatter(truth: Numbers, answer: Numbers, spread: Numbers, description: str) -> Markup:
    """Answers over truths, a bar of one spread either way through each, and the line where they agree."""
    if len(truth) > MOST_POINTS:
        some = np.random.default_rng(0).choice(len(truth), MOST_POINTS, replace=False)
        truth, answer, spread = truth[some], answer[some], spread[some]
    both = axis("", [*truth.tolist(), *(answer - spread).tolist(), *(answer + spread).tolist()])
    across, up = (Axis(label, both.low, both.high, both.ticks) for label in ("truth", "prediction"))
    canvas = _Canvas(across, up, description)
    canvas.path(f"M{canvas.at(both.low, both.low)}L{canvas.at(both.high, both.high)}", "guide")
    bars = zip(truth.tolist(), (answer - spread).tolist(), (answer + spread).tolist(), strict=True)
    canvas.path("".join(f"M{canvas.at(x, low)}V{canvas.y(high)}" for x, low, high in bars), "whisker")
    dots = zip(truth.tolist(), answer.tolist(), strict=True)
    canvas.path("".join(f"M{canvas.at(*point)}h0" for point in dots), "dots c0 faint")
    return canvas.done()


def histogram(groups: Sequence[tuple[str, Numbers]], x: str, description: str) -> Markup:
    """How each group is distributed, in per cent of itself: the first filled, the second an outline."""
    values = np.concatenate([group for _, group in groups])
    across = axis(x, [float(values.min()), float(values.max())], zero=True)
    edges = np.linspace(across.low, across.high, BINS + 1)
    shares = [100 * np.histogram(group, edges)[0] / max(len(group), 1) for _, group in groups]
    up = axis("% of targets" if len(groups) == 1 else "% of its group", np.concatenate(shares).tolist(), zero=True)
    canvas = _Canvas(across, up, description)
    for place, share in enumerate(shares):
        path = f"M{canvas.at(edges[0], 0)}"
        for left, right, height in zip(edges[:-1], edges[1:], share.tolist(), strict=True):
            path += f"L{canvas.at(left, height)}L{canvas.at(right, height)}"
        path += f"L{canvas.at(edges[-1], 0)}"
        canvas.path(path, f"{'line' if place else 'area'} c{place}")
    return canvas.done()


def reliability(bins: Sequence[tuple[float, float, int]], description: str) -> Markup:
    """What was right over what was promised, a dot for each bin (its area says how many are in it)."""
    across, up = (Axis(label, 0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)) for label in ("probability given", "share that held"))
    canvas = _Canvas(across, up, description)
    canvas.path(f"M{canvas.at(0, 0)}L{canvas.at(1, 1)}", "guide")
    canvas.path("M" + "L".join(canvas.at(given, held) for given, held, _ in bins), "line c0 thin")
    most = max(count for *_, count in bins)
    for given, held, count in bins:
        canvas.dot(given, held, 2 + 7 * math.sqrt(count / most))
    return canvas.done()


def _thin(line: Points, most: int = 400) -> list[tuple[float, float]]:
    """The line as it looks: of every stretch that falls on one place its first, lowest, highest and last point."""
    if len(line) <= most:
        return list(line)
    kept: list[tuple[float, float]] = []
    width = -(-len(line) // (most // 4))
    for start in range(0, len(line), width):
        stretch = range(start, min(start + width, len(line)))
        ends = {stretch[0], stretch[-1], min(stretch, key=lambda k: line[k][1]), max(stretch, key=lambda k: line[k][1])}
        kept += [line[place] for place in sorted(ends)]
    return kept


class _Canvas:
    """A chart in the making: its axes are drawn, marks are added."""

    def __init__(self, across: Axis, up: Axis, description: str) -> None:
        self._across, self._up = across, up
        view = {"class": "chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": description}
        self._svg = ET.Element("svg", view)
        for tick in up.ticks:
            self.path(f"M{LEFT} {self.y(tick)}H{RIGHT}", "grid")
            self._text(LEFT - 6, float(self.y(tick)) + 4, number(tick, 6), "end")
        for tick in across.ticks:
            at = across.place(tick, LEFT, RIGHT)
            self.path(f"M{at:.1f} {BOTTOM}v4", "tick")
            self._text(at, BOTTOM + 19, number(tick, 6), "middle")
        self.path(f"M{LEFT} {BOTTOM}H{RIGHT}", "tick")
        self._text(0, 13, up.label + (" (log scale)" if up.log else ""), "start", "name")
        self._text(RIGHT, HEIGHT - 5, across.label, "end", "name")

    def y(self, value: float) -> str:
        """The height at which `value` is drawn."""
        return f"{self._up.place(value, BOTTOM, TOP):.1f}"

    def at(self, x: float, y: float) -> str:
        """Where a point is drawn."""
        return f"{self._across.place(x, LEFT, RIGHT):.1f} {self.y(y)}"

    def path(self, path: str, style: str, *, dash: str = "") -> None:
        """A path in one of the page's styles."""
        ET.SubElement(self._svg, "path", {"class": style, "d": path} | ({"stroke-dasharray": dash} if dash else {}))

    def dot(self, x: float, y: float, radius: float) -> None:
        """A disc."""
        across, up = self.at(x, y).split()
        ET.SubElement(self._svg, "circle", {"class": "disc c0", "cx": across, "cy": up, "r": f"{radius:.1f}"})

    def done(self) -> Markup:
        """The chart as HTML."""
        return _markup(self._svg)

    def _text(self, x: float, y: float, text: str, anchor: str, style: str = "label") -> None:
        place = {"class": style, "x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
        ET.SubElement(self._svg, "text", place).text = text


def _markup(svg: ET.Element) -> Markup:
    return Markup(ET.tostring(svg, encoding="unicode"))  # the tree has escaped every text


def number(value: float, digits: int = 4) -> str:
    """A number as short as it can be read.

    >>> number(-0.25), number(1e-5), number(120000)
    ('−0.25', '1e−5', '120000')
    """
    mantissa, _, power = f"{value:.{digits if abs(value) < 1e3 else 6}g}".partition("e")
    return (f"{mantissa}e{int(power)}" if power else mantissa).replace("-", "−")

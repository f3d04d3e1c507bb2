"""Charts: what they draw is where the numbers say, whatever the numbers are."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engnn.report import charts

numbers = st.floats(-1e300, 1e300, allow_nan=False)


def drawn(chart: str) -> list[float]:
    """All numbers of all paths; anything in a path that is neither a number nor a command fails."""
    paths = " ".join(path.get("d", "") for path in ET.fromstring(chart).iter("path"))
    assert not re.sub(r"[MLHVZhv]|-?\d+(\.\d+)?|\s", "", paths)
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", paths)]


@settings(deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30), st.booleans(), st.booleans())
def test_an_axis_holds_its_values_between_rising_ticks(values: list[float], zero: bool, log: bool) -> None:
    axis = charts.axis("", values, zero=zero, log=log)
    assert axis.low <= min(values)
    assert max(values) <= axis.high
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert 2 <= len(axis.ticks) <= 13
    assert axis.low < axis.high
    assert not zero or log or axis.low <= 0 <= axis.high
    assert all(-1e-6 <= axis.place(value, 0, 1) <= 1 + 1e-6 for value in values)


@settings(deadline=None)
@given(st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=8))
def test_ticks_that_differ_read_differently(values: list[float]) -> None:
    labels = [charts.number(tick, 6) for tick in charts.axis("", values).ticks]
    assert len(set(labels)) == len(labels)


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30), st.booleans())
def test_lines_stay_on_the_chart(points: list[tuple[float, float]], log: bool) -> None:
    found = drawn(charts.lines([("a", points)], "x", "y", "about", log=log))
    assert all(0 <= one <= charts.WIDTH for one in found)


def test_a_point_is_drawn_where_its_axes_put_it() -> None:
    chart = ET.fromstring(charts.lines([("a", [(0, 0), (5, 10), (10, 5)])], "x", "y", "about"))
    (line,) = [path.get("d") for path in chart.iter("path") if "line" in path.get("class", "")]
    middle = (charts.LEFT + charts.RIGHT) / 2, (charts.TOP + charts.BOTTOM) / 2
    assert line == (
        f"M{charts.LEFT:.1f} {charts.BOTTOM:.1f}L{middle[0]:.1f} {charts.TOP:.1f}L{charts.RIGHT:.1f} {middle[1]:.1f}"
    )


def test_a_long_line_keeps_its_spikes() -> None:
    points = [(float(place), 1.0) for place in range(10_000)]
    points[5_003] = (5003.0, 9.0)
    points[7_001] = (7001.0, -9.0)
    *_, line = ET.fromstring(charts.lines([("a", points)], "x", "y", "about")).iter("path")
    heights = [float(point.split()[1]) for point in line.get("d", "")[1:].split("L")]
    assert len(heights) <= 400
    assert len(set(heights)) == 3


def test_a_histogram_speaks_of_each_group_alone() -> None:
    groups = [("few", np.array([0.1, 0.9])), ("many", np.repeat([0.1, 0.9], 500))]
    shapes = [
        path.get("d", "").strip("M")
        for path in ET.fromstring(charts.histogram(groups, "x", "about")).iter("path")
        if path.get("class", "").split()[-1] in ("c0", "c1")
    ]
    assert len(shapes) == 2
    assert shapes[0] == shapes[1]


def test_a_big_scatter_draws_some_of_it_and_the_same_each_time() -> None:
    draw = np.random.default_rng(1)
    truth, answer, spread = draw.normal(size=(3, 50_000))
    chart = charts.scatter(truth, answer, np.abs(spread), "about")
    assert chart == charts.scatter(truth, answer, np.abs(spread), "about")
    assert chart.count("h0") == charts.MOST_POINTS


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", '"><img src=x>', "a&b", "'", "\x00\x1f", "]]>"])
def test_names_cannot_leave_their_place(hostile: str) -> None:
    chart = charts.lines([("a", [(0, 1), (1, 2)])], hostile, hostile, hostile)
    assert "<script" not in chart
    assert "<img" not in chart
    if hostile.isprintable():
        svg = ET.fromstring(chart)
        assert svg.get("aria-label") == hostile
        assert hostile in [text.text for text in svg.iter("text")]

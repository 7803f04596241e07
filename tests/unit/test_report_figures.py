import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.report.figures import (
    Bar,
    Dot,
    Figure,
    Interval,
    Line,
    Rung,
    bars,
    dots,
    forest,
    lines,
    log_ticks,
    rungs,
)
from docstructure.report.svg import Scale, apart, decimals, spread

FIGURE = Figure("f", "title", "description")


@given(st.floats(-10, 10), st.floats(0.001, 10))
def test_ticks_lie_within_the_scale_and_are_evenly_spaced(low, width):
    scale = Scale(low, low + width, 0, 100)
    ticks = scale.ticks(5)
    assert 2 <= len(ticks) <= 11
    assert all(scale.low - 1e-9 <= tick <= scale.high + 1e-9 for tick in ticks)
    steps = [b - a for a, b in pairwise(ticks)]
    assert max(steps) - min(steps) < 1e-9


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8))
def test_labels_are_pushed_apart_and_keep_their_order(wanted):
    placed = apart(wanted, 14, 0, 300)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    ordered = [placed[index] for index in order]
    assert all(b - a >= 14 - 1e-9 for a, b in pairwise(ordered))
    assert max(placed) <= 300


def test_scale_of_equal_values_is_not_empty():
    scale = spread([0.4, 0.4], 0, 100)
    assert scale.low < 0.4 < scale.high
    assert spread([], 0, 1).low < 0
    assert decimals([0.0, 0.025, 0.05]) == 3


def test_forest_places_estimate_and_interval_by_value():
    row = Interval("C1", "qasper", "text", 0, 0.01, -0.01, 0.03, True)
    drawn = forest(FIGURE, [row], "axis")
    x1, x2 = map(float, re.search(r'whisker" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', drawn).groups())
    points = [tuple(map(float, pair.split(","))) for pair in re.search(r'points="([^"]+)"', drawn).group(1).split()]
    centre = sum(x for x, _ in points) / len(points)
    zero = float(re.search(r'class="zero" x1="([\d.]+)"', drawn).group(1))
    assert centre == pytest.approx((x1 + x2) / 2, abs=0.2)
    assert zero == pytest.approx(x1 + (x2 - x1) / 4, abs=0.2)
    assert "solid" in drawn


def test_forest_says_what_was_not_tested():
    drawn = forest(FIGURE, [Interval("C3", "x", "no gold", 0, None, None, None, False)], "axis")
    assert "not tested" in drawn
    assert "polygon" not in drawn


def test_series_differ_in_shape_as_well_as_colour():
    rows = [Interval("C", str(series), "", series, 0.1, 0.0, 0.2, True) for series in range(7)]
    shapes = set()
    for points in re.findall(r'points="([^"]+)"', forest(FIGURE, rows, "axis")):
        pairs = [tuple(map(float, pair.split(","))) for pair in points.split()]
        x, y = pairs[0]
        shapes.add(tuple((round(a - x, 1), round(b - y, 1)) for a, b in pairs))
    assert len(shapes) == 7


def test_single_points_and_single_values_are_drawn():
    assert "polygon" in lines(FIGURE, [Line("A4", 0, ((3.0, 0.5),))], log_ticks([8.0]), ("x", "y"))
    assert "polygon" in dots(FIGURE, [Dot("A0", (0.1, 0.1), "same")], "axis", 0)
    assert rungs(FIGURE, [Rung("A0", "windows", (0.1, None))], ["a", "b"], 0).count("<polygon") == 1


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=5))
def test_bars_show_each_share_at_its_length(shares):
    drawn = bars(FIGURE, [Bar("x", "y", tuple(("reason", share, "drop0") for share in shares))])
    frame = float(re.search(r'class="frame"[^>]* width="([\d.]+)"', drawn).group(1))
    widths = [float(width) for width in re.findall(r'class="drop0"[^>]* width="([\d.]+)"', drawn)]
    for width, share in zip(widths, shares, strict=True):
        assert width == pytest.approx(frame * share, abs=0.11)


def test_close_log_ticks_do_not_overlap():
    ticks = log_ticks([100, 101, 102, 6400])
    assert [words for _, words in ticks] == [["100"], ["6,400"]]

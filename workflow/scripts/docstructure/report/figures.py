"""The kinds of figures of the report: intervals, dots, lines and bars, each from a few plain rows to one SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from docstructure.report.numbers import fixed, general, signed
from docstructure.report.svg import BOLD, CHARACTER, SERIES, Canvas, Scale, apart, decimals, spread


@dataclass(frozen=True)
class Figure:
    """What every figure says of itself: a unique name, a title, and what it shows in words."""

    name: str
    title: str
    description: str


@dataclass(frozen=True)
class Interval:
    """One row of a forest plot.

    Parameters
    ----------
    group
        Heading that the row stands under.
    label, text
        Left and right of the plot.
    series
        Colour and marker.
    value, low, high
        Estimate and interval; None where nothing was tested.
    solid
        Whether the marker is filled: significant.
    published
        The paper's value, drawn as a cross.
    """

    group: str
    label: str
    text: str
    series: int
    value: float | None
    low: float | None
    high: float | None
    solid: bool
    published: float | None = None


@dataclass(frozen=True)
class Dot:
    """One row of a dot plot: values from the first to the last, joined."""

    label: str
    values: tuple[float, ...]
    text: str


@dataclass(frozen=True)
class Rung:
    """One row of a ladder: a value per column, None where a column has none."""

    label: str
    detail: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Line:
    """One line of a line chart; without label it has no name at its end."""

    label: str
    series: int
    points: tuple[tuple[float, float], ...]
    tips: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bar:
    """One bar of shares that add up to at most 1: what each is, its share, and its tone (kept, near, drop0, ...)."""

    label: str
    text: str
    parts: tuple[tuple[str, float, str], ...]


ROW = 26.0
RUNG = 34.0
GROUP = 30.0
AXIS = 46.0


def forest(figure: Figure, rows: Sequence[Interval], axis: str) -> str:
    """Return a forest plot: estimates with intervals around a line at 0."""
    left = 24 + CHARACTER * max(len(row.label) for row in rows)
    right = 6.2 * max(len(row.text) for row in rows) + 12
    width = 900.0
    groups = list(dict.fromkeys(row.group for row in rows))
    height = GROUP * len(groups) + ROW * len(rows) + AXIS + 12
    canvas = Canvas(figure.name, width, height, figure.title, figure.description)
    ends = [end for row in rows for end in (row.value, row.low, row.high, row.published) if end is not None]
    scale = spread(ends, left + 14, width - right - 14, zero=True)
    _axis(canvas, scale, (10, height - AXIS), axis)
    canvas.line((scale(0), 6), (scale(0), height - AXIS), "zero")
    y = 8.0
    for group in groups:
        canvas.text((0, y + 20), group, "group")
        y += GROUP
        for row in (row for row in rows if row.group == group):
            _interval(canvas, row, scale, y + ROW / 2, width)
            y += ROW
    return canvas.render()


def _interval(canvas: Canvas, row: Interval, scale: Scale, y: float, width: float) -> None:
    canvas.text((16, y + 4), row.label)
    canvas.text((width, y + 4), row.text, "number", "end")
    if row.value is None:
        canvas.text((scale(0) + 8, y + 4), "not tested", "muted")
        return
    if row.low is not None and row.high is not None:
        css = f"s{row.series % SERIES} whisker"
        canvas.line((scale(row.low), y), (scale(row.high), y), css)
        for end in (row.low, row.high):
            canvas.line((scale(end), y - 4), (scale(end), y + 4), css)
    canvas.marker((scale(row.value), y), row.series, row.solid, f"{row.group}, {row.label}: {row.text}")
    if row.published is not None:
        at = scale(row.published)
        for turn in (-1, 1):
            canvas.line((at - 3, y - 9 - 3 * turn), (at + 3, y - 9 + 3 * turn), "published")


def dots(figure: Figure, rows: Sequence[Dot], axis: str, series: int) -> str:
    """Return a dot plot; a row's values are joined, hollow before and filled at last."""
    left = 14 + BOLD * max(len(row.label) for row in rows)
    right = CHARACTER * max(len(row.text) for row in rows) + 14
    width, height = 480.0, ROW * len(rows) + AXIS + 4
    canvas = Canvas(figure.name, width, height, figure.title, figure.description)
    scale = spread([value for row in rows for value in row.values], left + 10, width - right - 10)
    _axis(canvas, scale, (2, height - AXIS), axis, 4)
    for index, row in enumerate(rows):
        y = 2 + ROW * (index + 0.5)
        canvas.line((left, y), (width - right, y), "row")
        canvas.text((0, y + 4), row.label, "name")
        canvas.text((width, y + 4), row.text, "number", "end")
        canvas.line((scale(row.values[0]), y), (scale(row.values[-1]), y), f"s{series % SERIES} joint")
        for place, value in enumerate(row.values):
            last = place == len(row.values) - 1
            canvas.marker((scale(value), y), series, last, f"{row.label}: {fixed(value, 4)}")
    return canvas.render()


def rungs(figure: Figure, rows: Sequence[Rung], columns: Sequence[str], series: int) -> str:
    """Return a ladder of dots: one label per row, one column with its own scale per name."""
    left = 16 + 5.6 * max(max(len(row.detail), len(row.label) + 2) for row in rows)
    width, top = 900.0, 26.0
    foot = top + RUNG * len(rows)
    canvas = Canvas(figure.name, width, foot + 24, figure.title, figure.description)
    for index, row in enumerate(rows):
        y = top + RUNG * (index + 0.5)
        canvas.text((0, y - 2), row.label, "name")
        canvas.text((0, y + 12), row.detail, "small")
        canvas.line((left, y), (width, y), "row")
    share = (width - left) / len(columns)
    for place, name in enumerate(columns):
        extent = (left + share * place + 14, left + share * (place + 1) - 58)
        column = [(row.label, row.values[place]) for row in rows]
        _rung_column(canvas, (name, series + place), column, extent, (top, foot))
    return canvas.render()


def _rung_column(
    canvas: Canvas,
    named: tuple[str, int],
    column: Sequence[tuple[str, float | None]],
    extent: tuple[float, float],
    rows: tuple[float, float],
) -> None:
    name, series = named
    scale = spread([value for _, value in column if value is not None], *extent)
    canvas.text((extent[0], 14), name, "group")
    _axis(canvas, scale, rows, "", 3)
    for index, (label, value) in enumerate(column):
        if value is not None:
            y = rows[0] + RUNG * (index + 0.5)
            canvas.marker((scale(value), y), series, tip=f"{label}, {name}: {fixed(value, 4)}")
            canvas.text((scale(value) + 10, y + 4), fixed(value), "number halo")


def lines(
    figure: Figure,
    series: Sequence[Line],
    x_ticks: Sequence[tuple[float, Sequence[str]]],
    axes: tuple[str, str],
    zero: bool = False,
) -> str:
    """Return a line chart whose lines are named at their ends.

    Parameters
    ----------
    x_ticks
        Positions, each with the lines of text under it.
    axes
        What x and y are.
    zero
        Whether y is a difference: 0 is inside and drawn.
    """
    width, height = 480.0, 310.0
    foot = 34 + 14 * max(len(words) for _, words in x_ticks)
    right = 18 + BOLD * max(len(line.label) for line in series)
    canvas = Canvas(figure.name, width, height, figure.title, figure.description)
    values = [value for line in series for _, value in line.points]
    y_scale = spread(values, height - foot, 24, zero=zero)
    at = [x for x, _ in x_ticks] + [x for line in series for x, _ in line.points]
    x_scale = Scale(min(at), max(at) if max(at) > min(at) else min(at) + 1, 62, width - right)
    _y_axis(canvas, y_scale, (62, width - right), axes[1], zero)
    for x, words in x_ticks:
        canvas.line((x_scale(x), height - foot), (x_scale(x), height - foot + 4), "tick")
        for index, word in enumerate(words):
            canvas.text((x_scale(x), height - foot + 17 + 14 * index), word, "tick", "middle")
    canvas.text(((62 + width - right) / 2, height - 6), axes[0], "axis", "middle")
    ends = apart([y_scale(line.points[-1][1]) for line in series], 14, 16, height - foot)
    for line, end in zip(series, ends, strict=True):
        _line(canvas, line, (x_scale, y_scale), (width - right + 10, end))
    return canvas.render()


def _line(canvas: Canvas, line: Line, scales: tuple[Scale, Scale], end: tuple[float, float]) -> None:
    points = [(scales[0](x), scales[1](y)) for x, y in line.points]
    if len(points) > 1:
        canvas.path(points, f"s{line.series % SERIES} curve d{line.series % SERIES}")
    for index, point in enumerate(points):
        canvas.marker(point, line.series, tip=line.tips[index] if line.tips else line.label)
    if line.label:
        canvas.text((end[0], end[1] + 4), line.label, f"s{line.series % SERIES} label")


def bars(figure: Figure, rows: Sequence[Bar]) -> str:
    """Return bars of shares."""
    left = 16 + CHARACTER * max(len(row.label) for row in rows)
    right = 16 + CHARACTER * max(len(row.text) for row in rows)
    width, height = 900.0, ROW * len(rows) + 8
    canvas = Canvas(figure.name, width, height, figure.title, figure.description)
    scale = Scale(0, 1, left, width - right)
    for index, row in enumerate(rows):
        y, done = 4 + ROW * index, 0.0
        canvas.text((0, y + 16), row.label)
        canvas.text((width, y + 16), row.text, "number", "end")
        canvas.box((scale(0), y + 4), (scale(1) - scale(0), ROW - 9), "frame")
        for reason, share, tone in row.parts:
            tip = f"{reason}: {fixed(share * 100, 1)} %"
            canvas.box((scale(done), y + 4), (scale(done + share) - scale(done), ROW - 9), tone, tip)
            done += share
    return canvas.render()


def _axis(canvas: Canvas, scale: Scale, extent: tuple[float, float], words: str, about: int = 6) -> None:
    """Draw a horizontal axis under the rows, with grid lines through them."""
    top, bottom = extent
    ticks = scale.ticks(about)
    digits = decimals(ticks)
    write = signed if scale.low < 0 < scale.high else fixed
    for tick in ticks:
        canvas.line((scale(tick), top), (scale(tick), bottom), "grid")
        canvas.text((scale(tick), bottom + 16), write(tick, digits), "tick", "middle")
    canvas.line((scale.start, bottom), (scale.end, bottom), "frame")
    if words:
        canvas.text(((scale.start + scale.end) / 2, bottom + 36), words, "axis", "middle")


def _y_axis(canvas: Canvas, scale: Scale, extent: tuple[float, float], words: str, zero: bool) -> None:
    ticks = scale.ticks(5)
    digits = decimals(ticks)
    for tick in ticks:
        canvas.line((extent[0], scale(tick)), (extent[1], scale(tick)), "zero" if zero and tick == 0 else "grid")
        written = signed(tick, digits) if zero else fixed(tick, digits)
        canvas.text((extent[0] - 8, scale(tick) + 4), written, "tick", "end")
    canvas.text((0, 12), words, "axis")


def log_ticks(values: Sequence[float]) -> list[tuple[float, list[str]]]:
    """Return ticks at log2 of the given values, each named by the value, without neighbours that would overlap."""
    ticks: list[tuple[float, list[str]]] = []
    distinct = sorted(set(values))
    width = math.log2(distinct[-1] / distinct[0]) or 1.0
    for value in distinct:
        if not ticks or (math.log2(value) - ticks[-1][0]) / width > 0.12:
            ticks.append((math.log2(value), [general(round(value))]))
    return ticks

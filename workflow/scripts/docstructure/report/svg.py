"""A small SVG writer: what the figures need and no more; the page's style sheet gives colours and strokes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

CHARACTER = 6.6
"""Mean width of a character of the figures' 12 px text, for layout alone."""

BOLD = 7.6
"""The same of bold text."""

SERIES = 7
"""Series that differ in colour and marker; more of them repeat."""


@dataclass(frozen=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Return round values within the scale, about as many as asked for."""
        raw = (self.high - self.low) / max(about, 1)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(index * step, 12) for index in range(first, last + 1)]


def spread(values: Sequence[float], start: float, end: float, zero: bool = False) -> Scale:
    """Return the scale of some values with a margin; with `zero`, 0 is inside."""
    finite = [value for value in values if math.isfinite(value)] + ([0.0] if zero or not values else [])
    low, high = min(finite), max(finite)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 0.01
    return Scale(low - margin, high + margin, start, end)


def decimals(ticks: Sequence[float]) -> int:
    """Return the decimals that tell the ticks apart."""
    for digits in range(6):
        if all(abs(round(tick, digits) - tick) < 1e-9 for tick in ticks):
            return digits
    return 6


@dataclass
class Canvas:
    """One figure: named, described for those who do not see it, and drawn element by element.

    Parameters
    ----------
    name
        Unique in the page: the ids of title and description come from it.
    width, height
        In px at full size; the page scales the figure down to its column.
    title, description
        Read out instead of the drawing.
    """

    name: str
    width: float
    height: float
    title: str
    description: str
    _parts: list[str] = field(default_factory=list)

    def line(self, start: tuple[float, float], end: tuple[float, float], css: str) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self._parts.append(f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points: Sequence[tuple[float, float]], css: str) -> None:
        """Draw a line through points."""
        steps = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
        self._parts.append(f'<path class="{css}" d="{steps}"/>')

    def box(self, corner: tuple[float, float], size: tuple[float, float], css: str, tip: str = "") -> None:
        """Draw a rectangle."""
        (x, y), (width, height) = corner, size
        shape = f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
        self._parts.append(f"{shape}><title>{escape(tip)}</title></rect>" if tip else f"{shape}/>")

    def text(self, at: tuple[float, float], words: str, css: str = "", anchor: str = "start") -> None:
        """Write a line of text; `at` is its baseline's start, middle or end."""
        kind = f' class="{css}"' if css else ""
        self._parts.append(f'<text{kind} x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def marker(self, at: tuple[float, float], series: int, solid: bool = True, tip: str = "") -> None:
        """Draw a data point: series differ in colour and in shape; a hollow one says that something is not the case."""
        shape = _SHAPES[series % len(_SHAPES)]
        x, y = at
        points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shape)
        css = f"s{series % SERIES} {'solid' if solid else 'hollow'}"
        drawn = f'<polygon class="{css}" points="{points}"'
        self._parts.append(f"{drawn}><title>{escape(tip)}</title></polygon>" if tip else f"{drawn}/>")

    def render(self) -> str:
        """Return the SVG element."""
        head = (
            f'<svg class="plot" role="img" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'style="max-width:{self.width:.0f}px;min-width:{min(self.width, 640) * 0.72:.0f}px" '
            f'aria-labelledby="{self.name}-t {self.name}-d">'
        )
        words = (
            f'<title id="{self.name}-t">{escape(self.title)}</title>'
            f'<desc id="{self.name}-d">{escape(self.description)}</desc>'
        )
        return f"{head}{words}{''.join(self._parts)}</svg>"


def _regular(corners: int, radius: float, turn: float) -> tuple[tuple[float, float], ...]:
    angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
    return tuple((radius * math.cos(angle), radius * math.sin(angle)) for angle in angles)


# circle, square, triangle, diamond, hexagon, triangle down, pentagon
_SHAPES = (
    _regular(20, 5, 0),
    _regular(4, 6.3, math.pi / 4),
    _regular(3, 6.6, -math.pi / 2),
    _regular(4, 6.4, 0),
    _regular(6, 5.6, 0),
    _regular(3, 6.6, math.pi / 2),
    _regular(5, 5.8, -math.pi / 2),
)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions near the wanted ones, each at least `gap` from the next, inside ``[low, high]`` if they fit."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = [0.0] * len(wanted)
    before = -math.inf
    for index in order:
        placed[index] = before = max(wanted[index], before + gap, low)
    after = high + gap
    for index in reversed(order):
        placed[index] = after = min(placed[index], after - gap)
    return placed

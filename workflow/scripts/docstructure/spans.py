"""Half-open intervals of characters: the ground on which chunking and every metric stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
Offsets = NDArray[np.int64]


def merge(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and merge those that overlap; spans that only touch stay apart: they may be two pieces."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def overlap(a: Span, b: Span) -> int:
    """Return the number of characters that two spans share."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def check_tiling(spans: Sequence[Span], length: int) -> list[str]:
    """Return every reason why `spans`, in this order, do not tile ``[0, length)``; empty when they do."""
    problems = []
    position = 0
    for index, (start, end) in enumerate(spans):
        if start >= end:
            problems.append(f"span {index} [{start}, {end}) is empty or reversed")
        if start > position:
            problems.append(f"gap [{position}, {start}) before span {index}")
        elif start < position:
            problems.append(f"span {index} [{start}, {end}) overlaps the one before by {position - start}")
        position = max(position, end)
    if position != length:
        problems.append(f"spans end at {position}, the text at {length}")
    return problems

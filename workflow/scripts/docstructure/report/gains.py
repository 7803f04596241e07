"""The gain of each rank of one query: what coverage-nDCG adds up, shown rank by rank (paper, appendix B)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from docstructure.spans import Span, overlap


def gain(chunk: Span, spans: Sequence[Span]) -> float:
    """Return the mean, over the gold spans, of the share of the span that a chunk covers.

    Chunks of a set are disjoint and stand once in a ranking, so nothing of what one covers was covered above it.
    """
    return sum(overlap(chunk, span) / (span[1] - span[0]) for span in spans) / len(spans)


def discounted(gains: Sequence[float], k: int) -> list[float]:
    """Return what each of the first k ranks adds to DCG."""
    return [value / math.log2(rank + 1) for rank, value in enumerate(gains[:k], start=1)]


def ideal(chunks: Sequence[Span], spans: Sequence[Span], k: int) -> float:
    """Return the DCG of the best order of a document's own chunks; gains are independent, so the largest come first."""
    return sum(discounted(sorted((gain(chunk, spans) for chunk in chunks), reverse=True), k))


def marks(chunk: Span, spans: Sequence[Span], length: int) -> list[Span]:
    """Return where the gold spans lie in the first `length` characters of a chunk, relative to its start."""
    found = [(max(start - chunk[0], 0), min(end, chunk[1]) - chunk[0]) for start, end in spans]
    return [(start, min(end, length)) for start, end in found if start < min(end, length)]

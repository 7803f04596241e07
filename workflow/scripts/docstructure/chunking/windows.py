"""Fixed windows matched in size and number to a document's structural chunks (paper 3.2 and J, design §5)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from docstructure.chunking.chunk import Chunk, ChunkingError
from docstructure.chunking.ruler import Ruler

FALLBACKS = ("token", "nearest")


@dataclass(frozen=True)
class Options:
    """Windows that know nothing of sections.

    Parameters
    ----------
    match
        Name of the boundaries whose chunks they match in number and mean size, document by document.
    """

    match: str

    def __post_init__(self) -> None:
        if not self.match:
            raise ValueError("boundaries windows: match is empty; name other boundaries of definitions.boundaries")


@dataclass(frozen=True)
class Snapping:
    """How a window's edge finds a sentence start.

    Parameters
    ----------
    tokens
        An edge moves to the nearest sentence start within this many tokens (the earlier of two equally near).
    fallback
        Where there is none: ``token`` leaves the edge at a token (the nearest one within reach that begins a word, so
        that no word is cut where that can be helped), ``nearest`` moves it to the nearest sentence start at any
        distance.
    """

    tokens: int
    fallback: str

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"fixed_snap_tokens is {self.tokens}; it must not be negative")
        if self.fallback not in FALLBACKS:
            raise ValueError(f"fixed_snap_fallback is {self.fallback!r}; it is one of {', '.join(FALLBACKS)}")


@dataclass(frozen=True)
class Edges:
    """Inner edges of a document's windows.

    Parameters
    ----------
    positions
        Characters, strictly ascending.
    in_reach
        Whether each edge snapped to a sentence start within reach.
    """

    positions: tuple[int, ...]
    in_reach: tuple[bool, ...]


def cut(ruler: Ruler, sizes: Sequence[int], snapping: Snapping) -> list[Chunk]:
    """Cut a document into as many windows as it has matched chunks, of their mean size.

    Parameters
    ----------
    ruler
        The measured document.
    sizes
        Content tokens of its matched chunks.
    snapping
        How edges find sentence starts.

    Returns
    -------
    list of Chunk
        ``len(sizes)`` chunks that tile the document, without path and section.
    """
    inner = edges(ruler, sizes, snapping).positions
    return [Chunk(start, end, ruler.count(start, end)) for start, end in pairwise((0, *inner, len(ruler.text)))]


def edges(ruler: Ruler, sizes: Sequence[int], snapping: Snapping) -> Edges:
    """Place the inner edges: edge k at k times the unrounded mean size from the document's start, snapped.

    Edges ascend strictly whatever the document: each leaves at least one place for every edge after it. A document
    with fewer tokens than windows is cut between characters.

    Raises
    ------
    ChunkingError
        If there is no matched chunk, or more of them than characters.
    """
    n = len(sizes)
    if not 0 < n <= len(ruler.text):
        raise ChunkingError(f"{n} windows are asked for in a text of {len(ruler.text)} characters")
    target = sum(sizes) / n
    places = _Places.between_tokens(ruler)
    if len(places.positions) < n - 1:
        places = _Places.between_characters(ruler)
        target = len(ruler.text) / n
    positions: list[int] = []
    in_reach: list[bool] = []
    last = -1
    for k in range(1, n):
        # places are kept for the n - 1 - k edges that follow
        allowed = (last + 1, len(places.positions) - (n - 1 - k))
        last, snapped = places.choose(k * target, *allowed, snapping)
        positions.append(places.positions[last])
        in_reach.append(snapped)
    return Edges(tuple(positions), tuple(in_reach))


@dataclass(frozen=True)
class _Places:
    """Where an edge may stand, one place per distance from the document's start.

    Parameters
    ----------
    positions
        Characters, strictly ascending.
    ranks
        Distance from the start, in tokens, strictly ascending.
    sentences
        Indices of the places that are sentence starts, ascending.
    ruler
        The measured document.
    """

    positions: list[int]
    ranks: list[int]
    sentences: list[int]
    ruler: Ruler

    @classmethod
    def between_tokens(cls, ruler: Ruler) -> _Places:
        """Every place with a token on both sides: token starts, and sentence starts where they differ."""
        starts, ranks = np.unique(ruler.tokens.starts, return_index=True)
        # latest first, so that the earliest of several sentence starts before the same token keeps the place
        sentences = np.asarray(ruler.sentences[::-1], dtype=np.int64)
        at = np.searchsorted(starts, sentences)
        sentences, at = sentences[(at > 0) & (at < len(starts))], at[(at > 0) & (at < len(starts))]
        starts[at] = sentences
        return cls(starts[1:].tolist(), ranks[1:].tolist(), (np.unique(at) - 1).tolist(), ruler)

    @classmethod
    def between_characters(cls, ruler: Ruler) -> _Places:
        """Every place between two characters, as if each were a token."""
        positions = list(range(1, len(ruler.text)))
        return cls(positions, positions, [position - 1 for position in ruler.sentences if position], ruler)

    def choose(self, ideal: float, low: int, high: int, snapping: Snapping) -> tuple[int, bool]:
        """Return the place in ``[low, high)`` for an edge, and whether it is a sentence start within reach."""
        near = self.sentences[bisect_left(self.sentences, low) : bisect_left(self.sentences, high)]
        sentence = self._nearest(near, ideal)
        if sentence is not None and abs(self.ranks[sentence] - ideal) <= snapping.tokens:
            return sentence, True
        if snapping.fallback == "nearest" and sentence is not None:
            return sentence, False
        first = max(low, bisect_left(self.ranks, ideal - snapping.tokens))
        stop = min(high, bisect_right(self.ranks, ideal + snapping.tokens))
        word = self._nearest([i for i in range(first, stop) if self.ruler.between_words(self.positions[i])], ideal)
        if word is not None:
            return word, False
        token = self._nearest(range(low, high), ideal)
        assert token is not None  # noqa: S101 (the caller keeps a place for every edge)
        return token, False

    def _nearest(self, places: Sequence[int], ideal: float) -> int | None:
        """Return the place nearest to `ideal`, the earlier of two; None where there is none."""
        after = bisect_left(places, ideal, key=self.ranks.__getitem__)
        around = places[max(0, after - 1) : after + 1]
        return min(around, key=lambda place: abs(self.ranks[place] - ideal), default=None)

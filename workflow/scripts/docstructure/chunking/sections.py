"""Structural chunks: a section's own paragraphs, split above t_max and merged below t_min (paper 3.2, design §5)."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from docstructure.chunking.chunk import Chunk, ChunkingError
from docstructure.chunking.ruler import Ruler
from docstructure.chunking.splitting import split
from docstructure.spans import Span, check_tiling


@dataclass(frozen=True)
class Options:
    """Boundaries that follow the sections of a structure.

    Parameters
    ----------
    structure
        Name of the structure.
    """

    structure: str

    def __post_init__(self) -> None:
        if not self.structure:
            raise ValueError("boundaries sections: structure is empty; name one of definitions.structures")


@dataclass(frozen=True)
class Limits:
    """How many content tokens a structural chunk may have.

    Parameters
    ----------
    t_max
        No chunk has more.
    t_min
        A chunk with less is merged with a neighbour.
    """

    t_max: int
    t_min: int

    def __post_init__(self) -> None:
        if self.t_min < 0:
            raise ValueError(f"t_min is {self.t_min}; it must not be negative")
        if self.t_max < max(1, 2 * self.t_min):
            raise ValueError(
                f"t_max is {self.t_max} and t_min {self.t_min}; t_max must be at least twice t_min, "
                "or a merge above t_max could not be split again into parts of t_min"
            )


@dataclass(frozen=True)
class Segment:
    """A section's own text.

    Parameters
    ----------
    start, end
        Characters, half-open.
    path
        Section titles from the top.
    top
        Index of the section that begins its top-level section.
    """

    start: int
    end: int
    path: tuple[str, ...]
    top: int


def segments(levels: Sequence[int], paths: Sequence[Sequence[str]], spans: Sequence[Span]) -> list[Segment]:
    """Turn the sections of one document, in order, into segments that know their top-level section.

    A top-level section begins at a section of level 1, and also where the first title changes: a top-level heading
    without text of its own has no row, so that its first row may be of level 2.
    """
    found: list[Segment] = []
    for index, (level, path, (start, end)) in enumerate(zip(levels, paths, spans, strict=True)):
        new = index == 0 or level == 1 or tuple(path[:1]) != found[-1].path[:1]
        found.append(Segment(start, end, tuple(path), index if new else found[-1].top))
    return found


def cut(ruler: Ruler, sections: Sequence[Segment], limits: Limits) -> list[Chunk]:
    """Cut a document along its sections.

    Each segment longer than ``t_max`` is split into near-equal parts between sentences. Then pieces below ``t_min``
    are merged, smallest first, each with the neighbour that keeps its path truest: one in the same top-level section,
    then the one with the deepest common ancestor, then one with which no new split is needed, then the smaller, then
    the one before. A merge above ``t_max`` is split again into near-equal parts; it counts only if none of them is
    below ``t_min``, so that every merge leaves fewer small pieces. A piece stays below ``t_min`` only if it is the
    whole document or no neighbour can take it without cutting a sentence.

    Parameters
    ----------
    ruler
        The measured document.
    sections
        Its segments; they tile it.
    limits
        Bounds, in content tokens.

    Returns
    -------
    list of Chunk
        Chunks that tile the document. Its path is the deepest common ancestor of the sections it touches (empty
        across top-level sections); it routes with the top-level section of the section that gives it most tokens
        (the first such).

    Raises
    ------
    ChunkingError
        If the sections do not tile the document.
    """
    problems = check_tiling([(section.start, section.end) for section in sections], len(ruler.text))
    if problems:
        raise ChunkingError(f"its sections do not tile it: {problems[0]}")
    pieces = _Pieces(ruler, _Outline(tuple(sections)), limits)
    return pieces.merged()


@dataclass(frozen=True)
class _Outline:
    """Where a document's sections begin and what neighbouring ones have in common."""

    sections: tuple[Segment, ...]

    @cached_property
    def starts(self) -> list[int]:
        return [section.start for section in self.sections]

    def touched(self, span: Span) -> range:
        """Return the indices of the sections that share text with a span."""
        return range(bisect_right(self.starts, span[0]) - 1, bisect_right(self.starts, span[1] - 1))

    def ancestor(self, span: Span) -> tuple[str, ...]:
        """Return the path of the deepest common ancestor of the sections that a span touches."""
        touched = self.touched(span)
        path = self.sections[touched[0]].path
        for index in touched[1:]:
            other = self.sections[index].path
            common = 0
            while common < min(len(path), len(other)) and path[common] == other[common]:
                common += 1
            path = path[:common]
            if not path:
                break
        return path


class _Pieces:
    """A tiling of the document that is refined until no small piece can be merged."""

    def __init__(self, ruler: Ruler, outline: _Outline, limits: Limits) -> None:
        self.ruler, self.outline, self.limits = ruler, outline, limits
        self.by_start: dict[int, Span] = {}
        self.by_end: dict[int, Span] = {}
        self.small: list[tuple[int, int, int]] = []
        for section in outline.sections:
            self._add(self._fitting((section.start, section.end)))

    def merged(self) -> list[Chunk]:
        """Merge small pieces until none can be, and return the chunks in order."""
        while self.small:
            _, start, end = heapq.heappop(self.small)
            piece = (start, end)
            if self.by_start.get(start) == piece:
                self._merge(piece)
        return [self._chunk(self.by_start[start]) for start in sorted(self.by_start)]

    def _fitting(self, span: Span, edges: Sequence[int] = ()) -> list[Span]:
        """Return the span itself where it fits, else its near-equal parts."""
        if self.ruler.count(*span) <= self.limits.t_max:
            return [span]
        return split(self.ruler, span, self.limits.t_max, self.limits.t_min, edges)

    def _merge(self, piece: Span) -> None:
        for mate in self._mates(piece):
            union = (min(piece[0], mate[0]), max(piece[1], mate[1]))
            parts = self._fitting(union, [self.outline.starts[index] for index in self.outline.touched(union)])
            if len(parts) > 1 and any(self.ruler.count(*part) < self.limits.t_min for part in parts):
                continue
            for old in (piece, mate):
                del self.by_start[old[0]], self.by_end[old[1]]
            self._add(parts)
            # a neighbour that could not be merged before may be now
            self._add([span for span in (self.by_end.get(union[0]), self.by_start.get(union[1])) if span])
            return

    def _mates(self, piece: Span) -> list[Span]:
        """Return the neighbours of a piece, the best one to merge with first."""
        ranked = []
        for after, mate in enumerate((self.by_end.get(piece[0]), self.by_start.get(piece[1]))):
            if mate is None:
                continue
            union = (min(piece[0], mate[0]), max(piece[1], mate[1]))
            tokens = self.ruler.count(*union)
            depth = len(self.outline.ancestor(union))
            key = (self._crosses(piece, mate), -depth, tokens > self.limits.t_max, tokens, after)
            ranked.append((key, mate))
        return [mate for _, mate in sorted(ranked)]

    def _crosses(self, piece: Span, mate: Span) -> bool:
        """Return whether the border between two pieces is one between top-level sections."""
        left, right = sorted((piece, mate))
        sections = self.outline.sections
        return sections[self.outline.touched(left)[-1]].top != sections[self.outline.touched(right)[0]].top

    def _add(self, spans: Iterable[Span]) -> None:
        for span in spans:
            self.by_start[span[0]] = self.by_end[span[1]] = span
            tokens = self.ruler.count(*span)
            if tokens < self.limits.t_min:
                heapq.heappush(self.small, (tokens, *span))

    def _chunk(self, span: Span) -> Chunk:
        return Chunk(*span, self.ruler.count(*span), self.outline.ancestor(span), self._routes_with(span))

    def _routes_with(self, span: Span) -> int:
        """Return the top-level section of the section that gives a span most tokens (most text where none has any)."""

        def share(index: int) -> tuple[int, int]:
            section = self.outline.sections[index]
            start, end = max(span[0], section.start), min(span[1], section.end)
            return self.ruler.rank(end) - self.ruler.rank(start), end - start

        return self.outline.sections[max(self.outline.touched(span), key=share)].top

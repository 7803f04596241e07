"""Near-equal parts of a passage, cut between sentences; inside one only where it is longer than a chunk may be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from docstructure.chunking.chunk import ChunkingError
from docstructure.chunking.ruler import Ruler
from docstructure.spans import Span


def split(ruler: Ruler, passage: Span, t_max: int, t_min: int, edges: Sequence[int] = ()) -> list[Span]:
    """Cut a passage into parts of at most `t_max` tokens each.

    Parameters
    ----------
    ruler
        The measured document.
    passage
        What to cut, in characters.
    t_max, t_min
        No part has more tokens; as few parts as possible have less, in tokens.
    edges
        Positions where a cut is welcome as at a sentence start (section starts), in characters.

    Returns
    -------
    list of Span
        Parts that tile the passage. Among all ways to cut between sentences: fewest parts below `t_min`, then fewest
        parts, then the smallest sum of squared sizes.

    Raises
    ------
    ChunkingError
        If `t_max` is smaller than the tokens of a single character.
    """
    start, end = passage
    limit = t_max
    while limit >= 1:
        positions = _atoms(ruler, start, end, limit, edges)
        marks = [ruler.rank(position) for position in positions]
        cuts = [positions[index] for index in partition(marks, limit, t_min)]
        parts = list(zip([start, *cuts], [*cuts, end], strict=True))
        # A cut inside a word may add a token to the slices beside it. The next try keeps that much in reserve.
        excess = max(ruler.count(*part) for part in parts) - t_max
        if excess <= 0:
            return parts
        limit -= excess
    raise ChunkingError(f"characters [{start}, {end}) cannot be cut into parts of at most {t_max} tokens")


def partition(marks: Sequence[int], t_max: int, t_min: int) -> list[int]:
    """Choose the inner boundaries at which a row of atoms is cut into near-equal parts.

    Parameters
    ----------
    marks
        Token position of each of the n + 1 boundaries of n atoms, ascending. No atom exceeds `t_max`.
    t_max, t_min
        Bounds on the tokens of a part; `t_max` is kept, `t_min` where it can be.

    Returns
    -------
    list of int
        Indices into `marks`, without the first and the last.
    """
    n = len(marks) - 1
    # One integer per part orders the aims: parts below t_min, then parts, then the sum of squares.
    per_part = (marks[-1] - marks[0]) ** 2 + 1
    per_small = per_part * (n + 1)
    best = [0] * (n + 1)
    before = [0] * (n + 1)
    for j in range(1, n + 1):
        lowest = None
        i = j - 1
        while i >= 0 and (size := marks[j] - marks[i]) <= t_max:
            cost = best[i] + size * size + per_part + (per_small if size < t_min else 0)
            if lowest is None or cost < lowest:
                lowest, before[j] = cost, i
            i -= 1
        if lowest is None:
            raise ChunkingError(f"an atom of {marks[j] - marks[j - 1]} tokens exceeds {t_max}")
        best[j] = lowest
    cuts = []
    j = n
    while (j := before[j]) > 0:
        cuts.append(j)
    return cuts[::-1]


def _atoms(ruler: Ruler, start: int, end: int, limit: int, edges: Sequence[int]) -> list[int]:
    """Return the boundaries of what is not cut further: sentences, or pieces of a sentence longer than `limit`."""
    sentences = ruler.sentences
    inner = sentences[bisect_left(sentences, start + 1) : bisect_left(sentences, end)]
    inside = sorted({*inner, *(edge for edge in edges if start < edge < end)}) if edges else list(inner)
    positions = [start]
    for position in [*inside, end]:
        tokens = ruler.rank(position) - ruler.rank(positions[-1])
        if tokens == 0 and len(positions) > 1:
            positions[-1] = position  # no token: part of the atom before it
        elif tokens > 0 or position == end:
            if tokens > limit:
                positions += _pieces(ruler, positions[-1], position, limit)
            positions.append(position)
    return positions


def _pieces(ruler: Ruler, start: int, end: int, limit: int) -> list[int]:
    """Return inner cuts of one over-long sentence: near-equal, before a word where one begins near, else at a token."""
    cuts = []
    low, high = ruler.rank(start), ruler.rank(end)
    while (left := high - low) > limit:
        aim = low + left / -(-left // limit)
        cut = _word_near(ruler, low, aim, low + limit)
        if cut is None:
            cut = ruler.start_of(int(aim))
            if ruler.rank(cut) <= low:  # a character of several tokens: go past it
                cut = next((p for p in map(ruler.start_of, range(int(aim), high)) if ruler.rank(p) > low), end)
                if cut == end:
                    break
        cuts.append(cut)
        low = ruler.rank(cut)
    return cuts


def _word_near(ruler: Ruler, low: int, aim: float, high: int) -> int | None:
    """Return the word start nearest to token `aim`, at most `high` and not so near to `low` that a scrap is left."""
    nearest = None
    for token in range(low + max(1, int((aim - low) / 2)), min(high, len(ruler.tokens) - 1) + 1):
        position = ruler.start_of(token)
        if ruler.rank(position) == token and ruler.between_words(position):
            distance = abs(token - aim)
            if nearest is None or distance < nearest[0]:
                nearest = (distance, position)
    return None if nearest is None else nearest[1]

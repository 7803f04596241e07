"""A run judged against gold evidence: which chunk covers which characters of which span, and at which rank.

Everything here is integer-coded: queries, documents and chunks are numbered from 0, so that all queries of a cell are
judged at once. Only chunks of a query's own document can cover its evidence (paper B.2), hence only those are paired.

Evidence is cut into *pieces* at every chunk edge inside a span. A piece is covered by a chunk wholly or not at all, so
what a ranking newly covers at a rank is the pieces whose first covering chunk stands there, for any chunk set. Where
chunks tile a document, each piece belongs to exactly one chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Evidence:
    """The gold spans of all queries.

    Parameters
    ----------
    doc
        Document of each query, shape ``(n_queries,)``.
    query
        Query of each span, not decreasing, shape ``(n_spans,)``; every query has at least one span.
    start, end
        Characters of each span, half-open, shape ``(n_spans,)``.

    Raises
    ------
    ValueError
        If a query has no span, spans are out of order, or a span is empty.
    """

    doc: Codes
    query: Codes
    start: Codes
    end: Codes

    def __post_init__(self) -> None:
        if np.any(np.diff(self.query) < 0):
            raise ValueError("spans are not in the order of their queries")
        if np.any(self.start >= self.end):
            raise ValueError(f"span {int(np.argmax(self.start >= self.end))} is empty or reversed")
        if np.any(self.n_spans == 0):
            raise ValueError(f"query {int(np.argmax(self.n_spans == 0))} has no evidence span")

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.doc)

    @cached_property
    def n_spans(self) -> Codes:
        """Number of spans of each query."""
        return np.bincount(self.query, minlength=self.n_queries)


@dataclass(frozen=True)
class ChunkSet:
    """The chunks of a condition, ordered by document, start and end.

    Parameters
    ----------
    doc
        Document of each chunk, shape ``(n_chunks,)``.
    start, end
        Its content, in characters, half-open.
    n_tokens
        What it costs in a context window: prefix + content, in tokens.

    Raises
    ------
    ValueError
        If the chunks are out of order or one is empty.
    """

    doc: Codes
    start: Codes
    end: Codes
    n_tokens: Codes

    def __post_init__(self) -> None:
        later = np.diff(self.doc)
        if np.any(later < 0) or np.any((later == 0) & (np.diff(self.start) < 0)):
            raise ValueError("chunks are not ordered by document and start")
        if np.any(self.start >= self.end):
            raise ValueError(f"chunk {int(np.argmax(self.start >= self.end))} is empty or reversed")

    def __len__(self) -> int:
        return len(self.doc)

    def first_overlap(self) -> int | None:
        """Return the first chunk that begins before the one in front of it ends, or None where all are disjoint."""
        overlaps = (self.doc[1:] == self.doc[:-1]) & (self.start[1:] < self.end[:-1])
        return int(np.argmax(overlaps)) + 1 if overlaps.any() else None


@dataclass(frozen=True)
class Run:
    """The ranked chunks of all queries, in order of query and rank.

    Parameters
    ----------
    query, chunk
        Shape ``(n_rows,)``; the k-th row of a query stands at rank k.

    Raises
    ------
    ValueError
        If rows are not in the order of their queries, or a query ranks a chunk twice.
    """

    query: Codes
    chunk: Codes

    def __post_init__(self) -> None:
        if np.any(np.diff(self.query) < 0):
            raise ValueError("rows are not in the order of their queries")
        if len(self.chunk) and self.chunk.min() < 0:
            raise ValueError(f"row {int(np.argmax(self.chunk < 0))} has no chunk")
        width = int(self.chunk.max(initial=0)) + 1
        keys = np.sort(self.query * width + self.chunk)
        twice = keys[1:] == keys[:-1]
        if twice.any():
            query, chunk = divmod(int(keys[np.argmax(twice)]), width)
            raise ValueError(f"query {query} ranks chunk {chunk} twice; a chunk can be ranked once")

    @cached_property
    def rank(self) -> Codes:
        """Rank of each row, from 1."""
        row = np.arange(len(self.query))
        begins = np.ones(len(row), dtype=bool)
        begins[1:] = self.query[1:] != self.query[:-1]
        return row - np.maximum.accumulate(np.where(begins, row, 0)) + 1


@dataclass(frozen=True)
class Pairs:
    """The (query, chunk) pairs in which the chunk shares characters with the query's evidence, by query, then chunk.

    Parameters
    ----------
    query, chunk
        Codes, shape ``(n_pairs,)``.
    relevant
        Whether the chunk is relevant to one of the query's spans: it covers at least half of the span, or at least
        80 % of it lies inside the span (paper, appendix C).
    rank
        Where the run ranks the chunk, from 1; `NEVER` where it does not.
    """

    query: Codes
    chunk: Codes
    relevant: Flags
    rank: Codes


@dataclass(frozen=True)
class Pieces:
    """The pieces of evidence that at least one chunk covers.

    Parameters
    ----------
    span, query, length
        Span and query of each piece, and its length in characters, shape ``(n_pieces,)``.
    gain
        What covering it adds to the mean covered fraction of the query's spans.
    rank
        Rank of the first chunk of the run that covers it; `NEVER` where none does.
    of, pair
        Which piece is covered by which pair, shape ``(n_covers,)``.
    """

    span: Codes
    query: Codes
    length: Codes
    gain: Floats
    rank: Codes
    of: Codes
    pair: Codes


@dataclass(frozen=True)
class JudgedRun:
    """A run with the evidence and the chunks that it is judged by: all that a metric sees."""

    evidence: Evidence
    chunks: ChunkSet
    run: Run

    def __post_init__(self) -> None:
        if len(self.run.query) and int(self.run.query[-1]) >= self.evidence.n_queries:
            raise ValueError(f"the run holds query {int(self.run.query[-1])} of {self.evidence.n_queries}")
        if len(self.run.chunk) and int(self.run.chunk.max()) >= len(self.chunks):
            raise ValueError(f"the run holds chunk {int(self.run.chunk.max())} of {len(self.chunks)}")
        if self.n_queries and (ranked := np.bincount(self.run.query, minlength=self.n_queries)).min() == 0:
            raise ValueError(f"the run lacks query {int(np.argmin(ranked))}; a missing query has no score")

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.evidence.n_queries

    @cached_property
    def _overlaps(self) -> tuple[Codes, Codes]:
        """Span and chunk of every overlap, by span, then chunk."""
        evidence, chunks = self.evidence, self.chunks
        width = self._width
        origin = evidence.doc[evidence.query] * width
        # The running maximum of the ends does not decrease even where chunks overlap, so both searches are safe.
        reach = np.maximum.accumulate(chunks.doc * width + chunks.end) if len(chunks) else chunks.doc
        first = np.searchsorted(reach, origin + evidence.start, side="right")
        last = np.searchsorted(chunks.doc * width + chunks.start, origin + evidence.end, side="left")
        span, chunk = _expand(first, last)
        shared = (chunks.end[chunk] > evidence.start[span]) & (chunks.start[chunk] < evidence.end[span])
        return span[shared], chunk[shared]

    @property
    def _width(self) -> int:
        """More than any offset, so that ``code * width + offset`` orders by code, then offset."""
        return int(max(self.chunks.end.max(initial=0), self.evidence.end.max(initial=0))) + 1

    @cached_property
    def _pair_keys(self) -> tuple[Codes, Codes]:
        """Sorted keys of the pairs, and the pair of each overlap."""
        span, chunk = self._overlaps
        keys, pair = np.unique(self.evidence.query[span] * len(self.chunks) + chunk, return_inverse=True)
        return keys, pair

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of a query and a chunk that holds evidence of it."""
        keys, pair = self._pair_keys
        query, chunk = np.divmod(keys, max(len(self.chunks), 1))
        return Pairs(query, chunk, self._relevant(pair, len(keys)), self._rank_of(keys))

    def _relevant(self, pair: Codes, n_pairs: int) -> Flags:
        evidence, chunks = self.evidence, self.chunks
        span, chunk = self._overlaps
        overlap = np.minimum(chunks.end[chunk], evidence.end[span]) - np.maximum(
            chunks.start[chunk], evidence.start[span]
        )
        # In whole numbers: >= 1/2 of the span, or >= 4/5 of the chunk, without rounding at the edge.
        half_of_span = 2 * overlap >= evidence.end[span] - evidence.start[span]
        most_of_chunk = 5 * overlap >= 4 * (chunks.end[chunk] - chunks.start[chunk])
        relevant = np.zeros(n_pairs, dtype=bool)
        relevant[pair[half_of_span | most_of_chunk]] = True
        return relevant

    def _rank_of(self, keys: Codes) -> Codes:
        run = self.run
        rank = np.full(len(keys), NEVER)
        if not len(keys):
            return rank
        own = np.flatnonzero(self.chunks.doc[run.chunk] == self.evidence.doc[run.query])
        key = run.query[own] * len(self.chunks) + run.chunk[own]
        slot = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        found = keys[slot] == key
        rank[slot[found]] = run.rank[own[found]]
        return rank

    @cached_property
    def pieces(self) -> Pieces:
        """The evidence, cut at the chunk edges."""
        evidence, chunks, width = self.evidence, self.chunks, self._width
        span, chunk = self._overlaps
        left = span * width + np.maximum(chunks.start[chunk], evidence.start[span])
        right = span * width + np.minimum(chunks.end[chunk], evidence.end[span])
        edges = np.unique(np.concatenate([left, right]))
        overlap, interval = _expand(np.searchsorted(edges, left), np.searchsorted(edges, right))
        # Intervals between two spans, or in a gap that no chunk covers, are no pieces.
        covered, of = np.unique(interval, return_inverse=True)
        piece_span = edges[covered] // width
        length = edges[np.minimum(covered + 1, len(edges) - 1)] - edges[covered]
        query = evidence.query[piece_span]
        gain = length / (evidence.end - evidence.start)[piece_span] / evidence.n_spans[query]
        pair = self._pair_keys[1][overlap]
        rank = np.full(len(covered), NEVER)
        np.minimum.at(rank, of, self.pairs.rank[pair])
        return Pieces(piece_span, query, length, gain, rank, of, pair)

    @cached_property
    def tokens(self) -> Codes:
        """Tokens of prefix and content from rank 1 to each row of the run."""
        cost = self.chunks.n_tokens[self.run.chunk]
        total = np.cumsum(cost)
        first = self.run.rank == 1
        before = (total - cost)[first]
        spent: Codes = np.repeat(before, np.diff(np.append(np.flatnonzero(first), len(total))))
        return total - spent


def _expand(first: NDArray[np.integer], last: NDArray[np.integer]) -> tuple[Codes, Codes]:
    """Return every (i, j) with ``first[i] <= j < last[i]``, in order."""
    counts = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - begins[owner] + np.asarray(first, dtype=np.int64)[owner]

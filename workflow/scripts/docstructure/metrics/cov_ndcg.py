"""Coverage-nDCG (paper 5.1, appendix B): novelty-aware credit for gold characters, against the chunk set's own ideal.

The gain of a chunk is the mean, over the query's spans, of the fraction of the span that it covers and that no chunk
above it covers. The ideal ranking takes the chunk with the largest marginal gain again and again, from the condition's
own chunks. On disjoint chunks gains do not depend on one another and this order is optimal, so the score is at most 1.
On overlapping chunks it need not be: a score above 1 is raised, never returned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.cutoffs import Ranks
from docstructure.metrics.gain import dcg, ratio
from docstructure.metrics.judged import NEVER, JudgedRun

Options = Ranks

ROUNDING = 1e-9


def score(options: Ranks, judged: JudgedRun) -> NDArray[np.float64]:
    """Return cov-nDCG@k of each query.

    Raises
    ------
    ValueError
        If a score is above 1 (chunks of one document overlap).
    """
    pieces = judged.pieces
    actual = dcg(pieces.query, pieces.gain, pieces.rank, options.k, judged.n_queries)
    ideal = dcg(pieces.query, pieces.gain, ideal_ranks(judged, options.k), options.k, judged.n_queries)
    scores = ratio(actual, ideal)
    if np.any(scores > 1 + ROUNDING):
        query = int(np.argmax(scores))
        raise ValueError(
            f"cov_ndcg{options} of query {query} is {scores[query]:.3f}, above 1: chunks of document "
            f"{int(judged.evidence.doc[query])} overlap, so the greedy ideal is not optimal; score disjoint chunks"
        )
    return np.minimum(scores, 1.0)


def ideal_ranks(judged: JudgedRun, k: int) -> NDArray[np.int64]:
    """Return the rank at which the greedy ideal covers each piece, `NEVER` beyond k; ties go to the first chunk."""
    pieces, pairs = judged.pieces, judged.pairs
    rank = np.full(len(pieces.query), NEVER)
    if not len(rank):
        return rank
    begins = np.flatnonzero(np.diff(pairs.query, prepend=-1))
    n_pairs = np.diff(np.append(begins, len(pairs.query)))
    for step in range(1, k + 1):
        left = np.where(rank == NEVER, pieces.gain, 0.0)[pieces.of]
        gain = np.bincount(pieces.pair, weights=left, minlength=len(pairs.query))
        best = np.repeat(np.maximum.reduceat(gain, begins), n_pairs)
        candidates = np.flatnonzero((gain == best) & (gain > 0))
        if not len(candidates):
            break
        chosen = np.zeros(len(gain), dtype=bool)
        chosen[candidates[np.diff(pairs.query[candidates], prepend=-1) > 0]] = True
        covered = pieces.of[chosen[pieces.pair]]
        rank[covered] = np.minimum(rank[covered], step)
    return rank

"""Span recall (paper 5.1, appendix C): the share of gold spans that the top k chunks cover by half or more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.cutoffs import Ranks
from docstructure.metrics.judged import JudgedRun

Options = Ranks


def score(options: Ranks, judged: JudgedRun) -> NDArray[np.float64]:
    """Return recall@k of each query, over all of its spans."""
    evidence, pieces = judged.evidence, judged.pieces
    top = pieces.rank <= options.k
    covered = np.zeros(len(evidence.query), dtype=np.int64)
    np.add.at(covered, pieces.span[top], pieces.length[top])
    found = 2 * covered >= evidence.end - evidence.start
    return np.bincount(evidence.query[found], minlength=judged.n_queries) / evidence.n_spans

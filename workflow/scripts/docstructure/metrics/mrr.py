"""Reciprocal rank of the first relevant chunk, over the whole ranking (paper 5.1, appendix C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.cutoffs import WholeRanking
from docstructure.metrics.judged import NEVER, JudgedRun

Options = WholeRanking


def score(options: WholeRanking, judged: JudgedRun) -> NDArray[np.float64]:
    """Return the reciprocal rank of each query; 0 where no relevant chunk is ranked."""
    pairs = judged.pairs
    first = np.full(judged.n_queries, NEVER)
    np.minimum.at(first, pairs.query[pairs.relevant], pairs.rank[pairs.relevant])
    return np.where(first == NEVER, 0.0, 1.0 / first)

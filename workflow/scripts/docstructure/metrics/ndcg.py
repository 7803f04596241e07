"""Binary nDCG (paper 5.1, appendix C): a relevant chunk gains 1; the ideal is the chunk set's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.cutoffs import Ranks
from docstructure.metrics.gain import dcg, ratio
from docstructure.metrics.judged import JudgedRun

Options = Ranks


def score(options: Ranks, judged: JudgedRun) -> NDArray[np.float64]:
    """Return nDCG@k of each query; 0 where no chunk of the condition is relevant."""
    pairs = judged.pairs
    query = pairs.query[pairs.relevant]
    actual = dcg(query, np.ones(len(query)), pairs.rank[pairs.relevant], options.k, judged.n_queries)
    n_relevant = np.bincount(query, minlength=judged.n_queries)
    best = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, options.k + 2)))])
    return ratio(actual, best[np.minimum(n_relevant, options.k)])

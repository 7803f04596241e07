"""Coverage under a token budget (paper 5.1, appendix C): what a context window of B tokens holds of the evidence.

Chunks are taken in rank order while prefix and content tokens together fit; the first that does not fit ends it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.cutoffs import TokenBudget
from docstructure.metrics.judged import JudgedRun

Options = TokenBudget


def score(options: TokenBudget, judged: JudgedRun) -> NDArray[np.float64]:
    """Return the mean over each query's spans of the covered fraction."""
    pieces = judged.pieces
    fits = judged.tokens <= options.tokens
    n_taken = np.bincount(judged.run.query[fits], minlength=judged.n_queries)
    taken = pieces.rank <= n_taken[pieces.query]
    covered = np.bincount(pieces.query[taken], weights=pieces.gain[taken], minlength=judged.n_queries)
    return np.minimum(covered, 1.0)

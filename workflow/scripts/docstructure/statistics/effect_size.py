"""Effect size of paired deltas (paper D.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cohens_dz(deltas: NDArray[np.float64]) -> float | None:
    """Return the mean over the standard deviation (ddof 1) of per-query deltas; None where they do not vary.

    Parameters
    ----------
    deltas
        Shape ``(n_queries,)``.
    """
    # Equal deltas can have a standard deviation of 1e-17: that is rounding, and no effect size.
    if len(deltas) < 2 or np.ptp(deltas) <= 1e-12 * np.abs(deltas).max():
        return None
    return float(deltas.mean() / deltas.std(ddof=1))

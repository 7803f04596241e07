"""Discounted cumulative gain of all queries at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def dcg(
    query: NDArray[np.int64], gain: NDArray[np.float64], rank: NDArray[np.int64], k: int, n_queries: int
) -> NDArray[np.float64]:
    """Return ``sum(gain / log2(rank + 1))`` over ranks 1..k of each query, shape ``(n_queries,)``.

    Gains are added in the order of their ranks, so that two rankings with equal gains at every rank have the same bits.
    """
    top = np.flatnonzero(rank <= k)
    top = top[np.argsort(rank[top], kind="stable")]
    discounted = gain[top] / np.log2(rank[top] + 1)
    return np.bincount(query[top], weights=discounted, minlength=n_queries).astype(np.float64)


def ratio(actual: NDArray[np.float64], ideal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``actual / ideal``, and 0 where the ideal is 0 (paper B.2)."""
    return np.divide(actual, ideal, out=np.zeros_like(actual), where=ideal > 0)

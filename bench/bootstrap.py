"""Time four contrasts of the cluster bootstrap beside scipy.stats.bootstrap: QASPER's size, medians of five.

Both start from per-query deltas and documents and end at a percentile interval per contrast. scipy resamples documents
through their sums and counts, vectorised, contrast by contrast. Prints one table line.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap

N_QUERIES, N_DOCUMENTS, N_CONTRASTS, ITERATIONS = 4303, 1508, 4, 10_000
BATCHES = (200, 1000, 10_000)
REPEATS = 5
GOAL = 4


def make_deltas(seed: int = 20260710) -> tuple[np.ndarray, np.ndarray]:
    """Return deltas of four contrasts, shape (n_queries, 4), and the document of each query."""
    rng = np.random.default_rng(seed)
    documents = np.sort(np.concatenate([np.arange(N_DOCUMENTS), rng.integers(0, N_DOCUMENTS, N_QUERIES - N_DOCUMENTS)]))
    effects = np.array([0.012, 0.016, 0.001, -0.015])
    deltas = effects + rng.normal(0, 0.05, (N_DOCUMENTS, N_CONTRASTS))[documents]
    return deltas + rng.normal(0, 0.2, (N_QUERIES, N_CONTRASTS)), documents


def ours(deltas: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Return the intervals, shape (2, 4)."""
    result = cluster_bootstrap(deltas, documents, Resampling(ITERATIONS, 0.95, 1))
    return np.stack([result.ci_low, result.ci_high])


def peer(deltas: np.ndarray, documents: np.ndarray, batch: int) -> np.ndarray:
    """Return scipy's intervals, shape (2, 4)."""
    counts = np.bincount(documents)
    intervals = []
    for delta in deltas.T:
        result = scipy.stats.bootstrap(
            (np.bincount(documents, weights=delta), counts),
            lambda sums, sizes, axis: sums.sum(axis=axis) / sizes.sum(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=ITERATIONS,
            batch=batch,
            method="percentile",
            rng=np.random.default_rng(1),
        )
        intervals.append(list(result.confidence_interval))
    return np.array(intervals).T


def median_seconds(call: Callable[[], object]) -> float:
    """Return the median time of `REPEATS` calls, after one that warms up."""
    call()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Print the table line; scipy gets the batch that suits it best."""
    data = make_deltas()
    if not np.allclose(ours(*data), peer(*data, batch=1000), atol=5e-4):
        raise SystemExit("the intervals differ by more than Monte Carlo error")
    mine = median_seconds(lambda: ours(*data))
    theirs = min(median_seconds(lambda batch=batch: peer(*data, batch=batch)) for batch in BATCHES)
    name = f"{N_CONTRASTS} contrasts, B = {ITERATIONS:,}, {N_DOCUMENTS:,} documents vs scipy.stats.bootstrap"
    print(f"| {name} | {mine:.3f} s | {theirs:.3f} s | {theirs / mine:.1f}x | >= {GOAL}x |")


if __name__ == "__main__":
    main()

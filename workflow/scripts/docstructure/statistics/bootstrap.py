"""Cluster bootstrap of mean paired deltas: documents are drawn, with all of their queries (paper D.2).

How often each document is drawn in each replicate is one matrix of counts, fixed by the seed and the number of
documents. All contrasts, cells and metrics over the same queries share it, so that all replicates' mean deltas are one
matrix product with the documents' sums. Counts are made block by block: B × n_documents is never held at once.

Sums are rounded to a multiple of a power of two small enough that every product and partial sum is exact in float64.
A mean is therefore the same bits whatever the order in which BLAS adds, and a column's result does not depend on which
other columns it is computed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Blocks that stay in the processor's cache: 3.5 times as fast as blocks of a million draws.
BLOCK_DRAWS = 1 << 17
MANTISSA_BITS = 52
ROUNDING = 1e-12


@dataclass(frozen=True)
class Resampling:
    """Number of replicates, level of the interval (0.95: 2.5th and 97.5th percentiles) and seed of the draws."""

    iterations: int
    confidence: float
    seed: int

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations is {self.iterations}; the bootstrap needs at least 1")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence is {self.confidence}; allowed are levels between 0 and 1")


@dataclass(frozen=True)
class Bootstrap:
    """Percentile intervals and p-values of mean deltas, one per column, shape ``(n_columns,)``.

    Parameters
    ----------
    ci_low, ci_high
        Percentile interval of the replicates' mean deltas.
    p
        ``2 · min(P(mean <= 0), P(mean >= 0))``, at most 1. A 0 means that no replicate lies on the other side: the
        number is below 2 / iterations.
    """

    ci_low: NDArray[np.float64]
    ci_high: NDArray[np.float64]
    p: NDArray[np.float64]


def cluster_bootstrap(deltas: NDArray[np.float64], clusters: NDArray[np.int64], resampling: Resampling) -> Bootstrap:
    """Resample clusters with replacement and return intervals and p-values of the mean of each column.

    Parameters
    ----------
    deltas
        Paired per-query deltas, shape ``(n_queries, n_columns)``.
    clusters
        Document of each query, numbered from 0 without a gap, shape ``(n_queries,)``.
    resampling
        Replicates, level and seed.

    Raises
    ------
    ValueError
        If there are fewer than two clusters (every replicate would be the sample itself: an interval of length 0, p 0),
        a cluster without a query or a delta that is not finite.
    """
    counts = np.bincount(clusters)
    _check(deltas, counts)
    sums, quantum = _cluster_sums(deltas, clusters, len(counts))
    means = _replicates(sums, counts, resampling)
    tail = 100 * (1 - resampling.confidence) / 2
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    # A mean that is 0 in exact arithmetic must count on both sides; it can be off by the rounding of the sums.
    zero = np.maximum(quantum, ROUNDING * np.abs(deltas).max(axis=0))
    below, above = (means <= zero).mean(axis=0), (means >= -zero).mean(axis=0)
    return Bootstrap(low, high, np.minimum(1.0, 2 * np.minimum(below, above)))


def resampling_counts(n_clusters: int, iterations: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of how often each replicate draws each cluster, shape ``(replicates of the block, n_clusters)``."""
    generator = np.random.default_rng(seed)
    block = max(1, BLOCK_DRAWS // n_clusters)
    for first in range(0, iterations, block):
        rows = min(block, iterations - first)
        draws = generator.integers(0, n_clusters, size=(rows, n_clusters))
        draws += np.arange(rows)[:, None] * n_clusters
        yield np.bincount(draws.ravel(), minlength=rows * n_clusters).reshape(rows, n_clusters).astype(np.float64)


def _replicates(sums: NDArray[np.float64], counts: NDArray[np.int64], resampling: Resampling) -> NDArray[np.float64]:
    """Return the mean delta of every replicate and column, shape ``(iterations, n_columns)``."""
    table = np.column_stack([sums, counts])
    means = np.empty((resampling.iterations, sums.shape[1]))
    first = 0
    for drawn in resampling_counts(len(counts), resampling.iterations, resampling.seed):
        totals = drawn @ table
        means[first : first + len(drawn)] = totals[:, :-1] / totals[:, -1:]
        first += len(drawn)
    return means


def _cluster_sums(
    deltas: NDArray[np.float64], clusters: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of each cluster and column, rounded to the column's quantum, and the quanta."""
    sums = np.stack([np.bincount(clusters, weights=column, minlength=n_clusters) for column in deltas.T], axis=1)
    # No replicate's total is larger than this, so in units of the quantum every partial sum is a whole number < 2^52.
    largest = n_clusters * np.abs(sums).max(axis=0)
    _, exponent = np.frexp(largest)
    quantum = np.ldexp(1.0, exponent - MANTISSA_BITS)
    return np.rint(sums / quantum) * quantum, quantum


def _check(deltas: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    if len(counts) < 2:
        raise ValueError(f"{len(counts)} cluster: a cluster bootstrap needs at least 2")
    if counts.min() == 0:
        raise ValueError(f"cluster {int(np.argmin(counts))} has no query")
    if deltas.ndim != 2 or len(deltas) != counts.sum():
        raise ValueError(f"deltas have shape {deltas.shape}, expected ({int(counts.sum())}, columns)")
    if not np.isfinite(deltas).all():
        row, column = np.argwhere(~np.isfinite(deltas))[0]
        raise ValueError(f"delta of query {row}, column {column} is {deltas[row, column]}")

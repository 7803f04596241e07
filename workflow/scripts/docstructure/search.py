"""Exact top-k inner product of float32 vectors (paper 3.2): a ranking that depends on the vectors alone.

The bits of a float32 matrix product depend on the BLAS, the thread count, the batch and the device. So it decides
nothing here: it only rules out what lies below the k-th best by more than the largest error that float32 allows. The
candidates that are left are scored again by `pair_scores`, in float64 and in one order of summation, and stand by that
score, then by their row. Equal vectors get equal scores to the last bit.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Proposer = Callable[[Floats, Floats, int], tuple[Floats, Integers]]
Scorer = Callable[[Floats, Floats, Integers, Integers], Doubles]

DEVICES = ("auto", "cpu", "cuda")
BLOCK_ROWS = 1024  # queries of one matrix product; fewer cost it speed
BLOCK_SCORES = 1 << 25  # scores that one thread holds: 128 MiB
SLABS = 16
PAIRS = 128  # pairs that numpy scores at once: their buffers stay in the second-level cache
SORTED_ROWS = 64
COMPILED_FROM = 1 << 27  # products: from here on numba's half second pays
MARGIN = 32  # candidates beyond k that are asked of a proposer
MOST_PROPOSED = 2048  # the most that faiss selects on a GPU
ROUNDOFF32, ROUNDOFF64 = 2.0**-24, 2.0**-53
SMALLEST = 2.0**-126  # a product below the smallest normal number may be flushed to zero


def top_k(
    queries: Floats,
    vectors: Floats,
    k: int,
    *,
    threads: int = 1,
    device: str = "auto",
    proposer: Proposer | None = None,
    block_rows: int = BLOCK_ROWS,
) -> tuple[Integers, Floats]:
    """Return the `k` vectors of largest inner product with each query; equal products stand in the order of the rows.

    Parameters
    ----------
    queries
        Shape ``(n, d)``, float32.
    vectors
        What is searched, shape ``(m, d)``, float32, in the order that breaks ties (by chunk_id).
    k
        Ranks per query; with fewer than `k` vectors, all of them are ranked.
    threads
        CPU threads. Like `device`, `proposer` and `block_rows`, they change the time and not one bit of the result.
    device
        ``cuda`` proposes with faiss on a GPU, ``cpu`` by matrix product, ``auto`` with faiss where it and a GPU are.
    proposer
        Another engine: returns the scores and rows of the `count` best vectors of each query, best first, by float32
        inner product. A query whose candidates do not prove that they hold its top `k` is searched on the CPU.
    block_rows
        Queries per matrix product.

    Returns
    -------
    rows, scores
        Shape ``(n, min(k, m))``, best first; scores are the float64 products rounded to float32.

    Raises
    ------
    ValueError
        If there is no vector, the widths differ, a type is not float32, a value is not finite, or `k`, `threads` or
        `block_rows` is below 1.
    """
    if min(k, threads, block_rows) < 1:
        raise ValueError(f"k, threads and block_rows must be at least 1; found {k}, {threads}, {block_rows}")
    bounds = _error_bounds(queries, vectors)
    queries, vectors = np.ascontiguousarray(queries), np.ascontiguousarray(vectors)
    k = min(k, len(vectors))
    proposer = proposer or _engine(device, k, len(vectors))
    if proposer is None or not len(queries):
        rows, scores = _search(queries, vectors, k, bounds, threads=threads, block_rows=block_rows)
    else:
        rows, scores, done = _search_proposed(proposer, queries, vectors, k, bounds, threads=threads)
        todo = np.flatnonzero(~done)
        rows[todo], scores[todo] = _search(
            queries[todo], vectors, k, bounds[todo], threads=threads, block_rows=block_rows
        )
    return rows, scores.astype(np.float32)


def pair_scores(queries: Floats, vectors: Floats, query: Integers, row: Integers) -> Doubles:
    """Return the inner product of each (query, vector) pair: every published score and every rank comes from here.

    The product of two float32 numbers is exact in float64. The `d` products of a pair are added by folding: the second
    half is added onto the first until one number is left. That order is the same on every machine and in every batch.

    Parameters
    ----------
    queries, vectors
        Shapes ``(n, d)`` and ``(m, d)``, float32.
    query, row
        The pairs, shape ``(p,)``; `query` is sorted.

    Returns
    -------
    numpy.ndarray
        Shape ``(p,)``, float64.
    """
    return _scorer(len(query) * queries.shape[1])(queries, vectors, query, row)


def order_pairs(query: Integers, row: Integers, scores: Doubles) -> Integers:
    """Return the order of the pairs inside each query: higher score, then lower row. `query` is sorted."""
    order = np.empty(len(query), np.int64)
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    sizes = np.diff(starts, append=len(query))
    for first in range(0, len(starts), SORTED_ROWS):
        start, size = starts[first : first + SORTED_ROWS, None], sizes[first : first + SORTED_ROWS, None]
        place = np.arange(size.max())
        real = place < size
        pairs = slice(int(start[0, 0]), int(start[-1, 0] + size[-1, 0]))
        falling, rising = np.full(real.shape, np.inf), np.zeros(real.shape, np.int64)
        falling[real], rising[real] = -scores[pairs], row[pairs]
        placed = np.lexsort((rising, falling), axis=-1)
        order[pairs] = (start + placed)[real]
    return order


def _error_bounds(queries: Floats, vectors: Floats) -> Doubles:
    """Return, per query, how far a float32 inner product with any of the vectors can be from its float64 score.

    Whatever the order of summation, fused or not, ``|fl(q.v) - q.v| <= gamma |q||v|`` with ``gamma = d u / (1 - d u)``
    (Higham, Accuracy and Stability of Numerical Algorithms, 3.1); the second term is for products that underflow.
    """
    for name, array in (("queries", queries), ("vectors", vectors)):
        if array.ndim != 2 or array.dtype != np.float32:
            raise ValueError(f"{name} must be a float32 matrix; found {array.dtype} of shape {array.shape}")
    if not len(vectors):
        raise ValueError("the index is empty: there is no vector to search")
    width = vectors.shape[1]
    if queries.shape[1] != width or not width:
        raise ValueError(f"queries have {queries.shape[1]} dimensions, vectors {width}")
    gamma = _gamma(width, ROUNDOFF32)
    longest = _norms("vector", vectors, gamma).max()
    largest: Doubles = (gamma + _gamma(width, ROUNDOFF64)) * _norms("query", queries, gamma) * longest
    largest = largest * (1 + 2.0**-40) + width * SMALLEST
    return largest


def _gamma(width: int, roundoff: float) -> float:
    return width * roundoff / (1 - width * roundoff)


def _norms(name: str, array: Floats, gamma: float) -> Doubles:
    """Return an upper bound on the norm of each row."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", array, array).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(squares))
    if len(bad):
        raise ValueError(f"{name} {bad[0]} is not finite ({len(bad)} such rows)")
    norms: Doubles = np.sqrt((squares + array.shape[1] * SMALLEST) / (1 - gamma))
    return norms


def _search(
    queries: Floats, vectors: Floats, k: int, bounds: Doubles, *, threads: int, block_rows: int
) -> tuple[Integers, Doubles]:
    """Search on the CPU by matrix product; each thread works on its own block of queries."""
    n, m = len(queries), len(vectors)
    rows, scores = np.empty((n, k), np.int64), np.empty((n, k))
    slabs = min(max(m // (4 * k), 1), SLABS)
    width = -(-m // slabs)
    height = _block_height(n, min(block_rows, max(BLOCK_SCORES // m, 1)), threads)
    score, mine = _scorer(n * k * queries.shape[1]), threading.local()

    def search_block(start: int) -> None:
        if not hasattr(mine, "buffer"):
            mine.buffer = np.full((height, slabs * width), -np.inf, np.float32)
        block = slice(start, min(start + height, n))
        products = mine.buffer[: block.stop - start]
        np.matmul(queries[block], vectors.T, out=products[:, :m])
        query, row, proposed = _within_reach(products.reshape(-1, slabs, width), k, 2 * bounds[block])
        exact = score(queries[block], vectors, query, row)
        if not _faithful(proposed, exact, bounds[block][query]).all():
            raise RuntimeError("numpy's matrix product is less precise than float32 can be; use another BLAS")
        rows[block], scores[block] = _best(query, row, exact, k)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(search_block, range(0, n, height)))
    return rows, scores


def _block_height(n: int, most: int, threads: int) -> int:
    """Return the rows of a block, so that every thread gets as many blocks as the others."""
    rounds = -(-n // (most * threads))
    return max(1, -(-n // max(1, rounds * threads)))


def _within_reach(products: Floats, k: int, reach: Doubles) -> tuple[Integers, Integers, Floats]:
    """Return the pairs whose product is above a floor that lies `reach` or more below the k-th largest of their query.

    Parameters
    ----------
    products
        Shape ``(n, slabs, width)``: the products of a query, cut into slabs; ``-inf`` fills the last.
    k
        At most `width` and at most the number of products of a query.
    reach
        Shape ``(n,)``.

    Returns
    -------
    query, row, product
        Shape ``(p,)``, by query.
    """
    # The k-th largest maximum over the slabs is at most the k-th largest product, for k products reach it; and what is
    # above the floor lies under a maximum that is. Three fast passes instead of a selection among all products.
    peaks = np.maximum.reduce(products, axis=1)
    slabs, width = products.shape[1:]
    lowest = np.partition(peaks, width - k, axis=1)[:, width - k] - reach
    floor = np.nextafter(lowest.astype(np.float32), np.float32(-np.inf))
    query, place = np.divmod(np.flatnonzero(peaks >= floor[:, None]), width)
    under = products[query, :, place]
    pair, slab = np.divmod(np.flatnonzero(under >= floor[query, None]), slabs)
    return query[pair], slab * width + place[pair], under[pair, slab]


def _best(query: Integers, row: Integers, scores: Doubles, k: int) -> tuple[Integers, Doubles]:
    """Return the `k` best rows of each query and their scores; every query has at least `k` pairs."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    kept = order_pairs(query, row, scores)[starts[:, None] + np.arange(k)]
    return row[kept], scores[kept]


def _faithful(proposed: Floats, exact: Doubles, bounds: Doubles) -> NDArray[np.bool_]:
    """Return where a proposed score can be a float32 inner product, and not one of less precision (TF32, bfloat16)."""
    return np.abs(proposed - exact) <= bounds


def _search_proposed(
    proposer: Proposer, queries: Floats, vectors: Floats, k: int, bounds: Doubles, *, threads: int
) -> tuple[Integers, Doubles, NDArray[np.bool_]]:
    """Return the best of the proposed rows, their scores, and for which queries they are proved to be the top `k`."""
    n, m = len(queries), len(vectors)
    rows, scores, done = np.empty((n, k), np.int64), np.empty((n, k)), np.zeros(n, np.bool_)
    count = min(k + MARGIN, m)
    proposed, found = proposer(queries, vectors, count)
    found = np.asarray(found, np.int64)
    if found.size and (found.min() < 0 or found.max() >= m):
        raise RuntimeError(f"the search engine proposed row {found.min()} or {found.max()} of {m}")
    score = _scorer(n * count * queries.shape[1])

    def settle(start: int) -> None:
        block = slice(start, min(start + BLOCK_ROWS, n))
        query, row = np.repeat(np.arange(block.stop - start), count), found[block].ravel()
        exact = score(queries[block], vectors, query, row)
        rows[block], scores[block] = _best(query, row, exact, k)
        faithful = _faithful(proposed[block].ravel(), exact, bounds[block][query]).reshape(-1, count).all(axis=1)
        # What was not proposed has at most the last proposed product, so its score is at most this:
        beyond = proposed[block, -1] + bounds[block]
        done[block] = faithful & ((scores[block, -1] > beyond) | (count == m))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(settle, range(0, n, BLOCK_ROWS)))
    return rows, scores, done


def _engine(device: str, k: int, m: int) -> Proposer | None:
    """Return faiss on a GPU where it is there, asked for and can select so many; None for the CPU."""
    if device not in DEVICES:
        raise ValueError(f"device: {device!r} is none of {', '.join(DEVICES)}")
    if device == "cpu" or min(k + MARGIN, m) > MOST_PROPOSED:
        return None
    there = Path("/dev/nvidiactl").exists() and importlib.util.find_spec("faiss") is not None
    if there:
        import faiss

        there = getattr(faiss, "get_num_gpus", lambda: 0)() > 0
    if not there and device == "cuda":
        raise ValueError("device: cuda needs a GPU and faiss-gpu, and one is missing; auto takes the CPU then")
    return _propose_on_gpu if there else None


def _propose_on_gpu(queries: Floats, vectors: Floats, count: int) -> tuple[Floats, Integers]:
    import faiss

    index = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), vectors.shape[1])
    index.add(vectors)
    scores, rows = index.search(queries, count)
    return scores, rows


def _scorer(products: int) -> Scorer:
    """Return the faster of two routines that give the same bits, for so many products."""
    return _compiled_scores if products >= COMPILED_FROM and _compiled() is not None else _plain_scores


def _plain_scores(queries: Floats, vectors: Floats, query: Integers, row: Integers) -> Doubles:
    scores = np.empty(len(query))
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    for start, stop in zip(starts, np.append(starts, len(query))[1:], strict=True):
        vector = queries[query[start]].astype(np.float64)
        for first in range(start, stop, PAIRS):
            folded = vectors[row[first : min(first + PAIRS, stop)]].astype(np.float64)
            folded *= vector
            while folded.shape[1] > 1:
                half = (folded.shape[1] + 1) // 2
                folded[:, : folded.shape[1] - half] += folded[:, half:]
                folded = folded[:, :half]
            scores[first : first + PAIRS][: len(folded)] = folded[:, 0]
    return scores


def _compiled_scores(queries: Floats, vectors: Floats, query: Integers, row: Integers) -> Doubles:
    compiled = _compiled()
    if compiled is None:
        return _plain_scores(queries, vectors, query, row)
    scores = np.empty(len(query))
    compiled(queries, vectors, query, row, np.argsort(row), scores)  # by row, so that each vector is fetched once
    return scores


@cache
def _compiled() -> Callable[..., None] | None:
    """Return `_fold_pairs` as machine code; None where numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    types = "void(f4[:,::1], f4[:,::1], i8[::1], i8[::1], i8[::1], f8[::1])"
    try:
        return numba.njit(types, nogil=True, cache=True)(_fold_pairs)  # type: ignore[no-any-return]
    except (OSError, RuntimeError):  # no folder to keep the machine code in
        return numba.njit(types, nogil=True)(_fold_pairs)  # type: ignore[no-any-return]


def _fold_pairs(  # noqa: PLR0917
    queries: Floats, vectors: Floats, query: Integers, row: Integers, order: Integers, scores: Doubles
) -> None:
    """Fill `scores` as `_plain_scores` does, pair by pair; numba compiles this, without fast math."""
    width = queries.shape[1]
    half = (width + 1) // 2
    folded = np.empty(half)
    for pair in order:
        a, b = queries[query[pair]], vectors[row[pair]]
        for i in range(half):
            folded[i] = np.float64(a[i]) * np.float64(b[i])
        for i in range(width - half):
            folded[i] += np.float64(a[half + i]) * np.float64(b[half + i])
        length = half
        while length > 1:
            middle = (length + 1) // 2
            for i in range(length - middle):
                folded[i] += folded[middle + i]
            length = middle
        scores[pair] = folded[0]

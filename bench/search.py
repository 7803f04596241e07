"""Time exact top-100 search beside the bare matrix product and two peers: QASPER's size, fixed seed, two threads.

Ours: vectors to final rows and scores, ties and float64 rescoring included. The bare product is the faster of numpy's
and torch's: no search can do less on this machine. Rounds go through all sides in turn, so that what else the machine
does falls on all of them; medians of the rounds. Prints one table line per peer, for vectors with and without copies.

    python bench/search.py [rounds]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import torch
from sentence_transformers import util
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from docstructure.search import top_k

N_QUERIES, N_CHUNKS, WIDTH, TOP_K = 4303, 35_000, 384, 100
THREADS = 2
N_CLUSTERS, SPREAD = 500, 1.2
COPIED, ORIGINALS = 0.3, 300
ROUNDS = 9
GOALS = {"bare matrix product": 1.4, "semantic_search": 1.0}


def make_vectors(*, copies: bool, seed: int = 20260710) -> tuple[np.ndarray, np.ndarray]:
    """Return clustered unit vectors of queries and chunks; with `copies`, 30 % of the chunks repeat 300 of them."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((N_CLUSTERS, WIDTH))

    def draw(size: int) -> np.ndarray:
        vectors = centres[rng.integers(0, N_CLUSTERS, size)] + SPREAD * rng.standard_normal((size, WIDTH))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    queries, chunks = draw(N_QUERIES), draw(N_CHUNKS)
    if copies:
        at = rng.choice(N_CHUNKS, int(COPIED * N_CHUNKS), replace=False)
        chunks[at] = chunks[rng.choice(N_CHUNKS, ORIGINALS, replace=False)][rng.integers(0, ORIGINALS, len(at))]
    return queries, chunks


def sides(queries: np.ndarray, chunks: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    q, c = torch.from_numpy(queries), torch.from_numpy(chunks)
    index = faiss.IndexFlatIP(WIDTH)
    index.add(chunks)
    return {
        "ours": lambda: top_k(queries, chunks, TOP_K, threads=THREADS, device="cpu"),
        "numpy product": lambda: queries @ chunks.T,
        "torch product": lambda: q @ c.T,
        "semantic_search": lambda: util.semantic_search(q, c, top_k=TOP_K, score_function=util.dot_score),
        "faiss IndexFlatIP": lambda: index.search(queries, TOP_K),
    }


def measure(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return seconds of each side in each round, after one round that warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(rounds + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            result = call()
            if round_:
                times[name].append(time.perf_counter() - begin)
            del result
    return times


def check(queries: np.ndarray, chunks: np.ndarray) -> None:
    """Stop unless a sample of the rankings is the float64 ranking, with ties by row."""
    sample = np.arange(0, N_QUERIES, 100)
    rows, scores = top_k(queries, chunks, TOP_K, threads=THREADS, device="cpu")
    exact = queries[sample].astype(np.float64) @ chunks.astype(np.float64).T
    best = np.argsort(-exact.round(14), axis=1, kind="stable")[
        :, :TOP_K
    ]  # rounded: BLAS does not give copies equal sums
    if (
        not np.array_equal(rows[sample], best)
        or np.abs(np.take_along_axis(exact, best, 1) - scores[sample]).max() > 1e-7
    ):
        raise SystemExit("the ranking is not that of float64 products")


def main() -> None:
    """Print the table lines."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    threadpool_limits(THREADS)
    torch.set_num_threads(THREADS)
    faiss.omp_set_num_threads(THREADS)
    for copies in (False, True):
        data = make_vectors(copies=copies)
        check(*data)
        times = measure(sides(*data), rounds)
        median = {name: statistics.median(values) for name, values in times.items()}
        bare = min(("numpy product", "torch product"), key=lambda name: median[name])
        kind = f"{COPIED:.0%} copies" if copies else "no copies"
        for peer, side in {"bare matrix product": bare, **{name: name for name in list(times)[3:]}}.items():
            ratio, goal = median["ours"] / median[side], GOALS.get(peer)
            least = min(times["ours"]) / min(times[side])
            name = f"top {TOP_K}, {N_QUERIES:,} x {N_CHUNKS:,} x {WIDTH}, {kind} vs {peer}"
            seconds = f"{median['ours']:.3f} s | {median[side]:.3f} s"
            print(f"| {name} | {seconds} | {ratio:.2f}x (minima {least:.2f}x) | {f'<= {goal}x' if goal else 'none'} |")


if __name__ == "__main__":
    main()

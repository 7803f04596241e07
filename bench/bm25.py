"""Time BM25 beside rank_bm25's get_scores: QASPER's size, the demo's words, fixed seed.

35,000 chunks of about 150 words each are drawn from the demo articles' word distribution. Our time is that of one query
from its words to its top chunk; the peer's is that of one get_scores call, on a sample of queries, since one takes a
large part of a second. Both indexes are built beforehand; rounds alternate. The sample's scores must be equal.

    python bench/bm25.py [chunks] [peer queries]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from docstructure.bm25 import Index
from docstructure.words import words

ROOT = Path(__file__).resolve().parents[1]
N_CHUNKS, N_PEER, N_OURS = 35_000, 12, 400
LENGTH = 150
GOAL = 100.0


def make_chunks(n_chunks: int, seed: int = 20260710) -> list[list[str]]:
    """Return chunks of words drawn as the demo articles use them, with a tail of 40,000 rare words."""
    text = " ".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "resources/demo/articles").glob("*.md"))
    )
    pool = np.array([*words(text), *(f"rare{number}" for number in range(40_000))])
    rng = np.random.default_rng(seed)
    lengths = rng.integers(LENGTH // 2, LENGTH * 3 // 2, n_chunks)
    return [pool[rng.integers(0, len(pool), length)].tolist() for length in lengths]


def make_queries() -> list[list[str]]:
    """Return the words of the demo's questions."""
    lines = (ROOT / "resources/demo/questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [words(json.loads(line)["query"]) for line in lines]


def main() -> None:
    """Print the table line."""
    n_chunks = int(sys.argv[1]) if len(sys.argv) > 1 else N_CHUNKS
    n_peer = int(sys.argv[2]) if len(sys.argv) > 2 else N_PEER
    chunks, queries = make_chunks(n_chunks), make_queries()
    begin = time.perf_counter()
    index = Index(chunks)
    built = time.perf_counter() - begin
    begin = time.perf_counter()
    peer = BM25Okapi(chunks)
    peer_built = time.perf_counter() - begin
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(n_peer):
        query = queries[number]
        begin = time.perf_counter()
        expected = peer.get_scores(query)
        theirs.append(time.perf_counter() - begin)
        if not np.array_equal(index.scores(query), expected):
            raise SystemExit(f"query {number}: scores differ from rank_bm25's")
        for turn in range(N_OURS // n_peer):
            begin = time.perf_counter()
            index.top(queries[(number + turn) % len(queries)])
            ours.append(time.perf_counter() - begin)
    mine, other = statistics.median(ours), statistics.median(theirs)
    name = f"BM25 top chunk of a query, {n_chunks:,} chunks vs rank_bm25 get_scores"
    print(f"| {name} | {mine * 1e3:.3f} ms | {other * 1e3:.1f} ms | {other / mine:.0f}x | >= {GOAL:.0f}x |")
    print(f"| BM25 index, {n_chunks:,} chunks vs rank_bm25 | {built:.2f} s | {peer_built:.2f} s "
          f"| {peer_built / built:.2f}x | none |")  # fmt: skip


if __name__ == "__main__":
    main()

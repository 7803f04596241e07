"""Time all metrics of one cell beside ir_measures: QASPER's size, fixed seed, medians of seven.

Ours: frames of queries, chunks and ranking to seven scores of every query. Peer: alpha_nDCG, nDCG, R and RR of every
query, computed at once from data frames of qrels and run. Prints one table line.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from docstructure.metrics import parse
from docstructure.scoring import judge

N_QUERIES, N_DOCUMENTS, N_CHUNKS, TOP_K = 4303, 1508, 35_000, 100
METRICS = ("cov_ndcg@10", "ndcg@10", "recall@50", "mrr", "coverage@512t", "coverage@1024t", "coverage@2048t")
REPEATS = 7
GOAL = 10


def make_cell(seed: int = 20260710) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return queries (2.1 spans in the mean), chunks that tile documents, and rankings with own chunks near the top."""
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.choice(N_CHUNKS - 1, N_DOCUMENTS - 1, replace=False)) + 1
    per_document = np.diff(np.concatenate([[0], edges, [N_CHUNKS]]))
    doc = np.repeat(np.arange(N_DOCUMENTS), per_document)
    length = rng.integers(600, 2200, N_CHUNKS)
    total = np.cumsum(length)
    origin = np.concatenate([[0], total])[np.concatenate([[0], edges])]
    start = total - length - origin[doc]
    chunks = pl.DataFrame(
        {"doc_id": [f"paper{d:05d}" for d in doc], "start": start, "end": start + length, "cost": length // 5}
    ).with_columns(
        chunk_id=pl.format(
            "{}:{}-{}",
            "doc_id",
            pl.col("start").cast(pl.String).str.zfill(9),
            pl.col("end").cast(pl.String).str.zfill(9),
        )
    )
    first = np.concatenate([[0], edges])
    of_query = rng.integers(0, N_DOCUMENTS, N_QUERIES)
    spans, ranked = [], []
    for document in of_query:
        size = int(
            start[first[document] + per_document[document] - 1] + length[first[document] + per_document[document] - 1]
        )
        points = np.sort(rng.choice(size - 1, 2 * (1 + rng.poisson(1.1)), replace=False)) + 1
        points = np.sort(np.concatenate([points[::2], np.minimum(points[::2] + rng.integers(1, 900), points[1::2])]))
        pairs = zip(points[::2], points[1::2], strict=True)
        spans.append([{"start": int(a), "end": int(b)} for a, b in pairs])
        own = first[document] + rng.permutation(per_document[document])[:20]
        others = rng.choice(N_CHUNKS, TOP_K + 20, replace=False)
        others = others[~np.isin(others, own)][: TOP_K - len(own)]
        row = np.concatenate([own, others])
        ranked.append(row[np.argsort(np.arange(TOP_K) + rng.exponential(15, TOP_K))])
    queries = pl.DataFrame(
        {
            "query_id": [f"query{q:05d}" for q in range(N_QUERIES)],
            "doc_id": [f"paper{d:05d}" for d in of_query],
            "spans": spans,
        }
    )
    ranking = pl.DataFrame(
        {
            "query_id": np.repeat(queries["query_id"].to_numpy(), TOP_K),
            "rank": np.tile(np.arange(1, TOP_K + 1, dtype=np.int32), N_QUERIES),
            "chunk_id": chunks["chunk_id"].gather(np.concatenate(ranked)),
        }
    )
    return queries, chunks, ranking


def ours(queries: pl.DataFrame, chunks: pl.DataFrame, ranking: pl.DataFrame) -> dict[str, np.ndarray]:
    """Return seven metrics of every query."""
    judged = judge(queries, chunks, ranking)
    return {name: parse(name).score(judged) for name in METRICS}


def make_peer_inputs(
    queries: pl.DataFrame, chunks: pl.DataFrame, ranking: pl.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return qrels (a chunk that shares characters with a span is relevant to that subtopic) and the run."""
    spans = (
        queries.select("query_id", "doc_id", "spans")
        .explode("spans")
        .unnest("spans")
        .with_columns(iteration=pl.int_range(pl.len()).over("query_id").cast(pl.String))
    )
    joined = spans.join(chunks, on="doc_id", suffix="_chunk")
    hit = (pl.col("start_chunk") < pl.col("end")) & (pl.col("end_chunk") > pl.col("start"))
    qrels = joined.filter(hit).select("query_id", "iteration", doc_id="chunk_id", relevance=pl.lit(1))
    run = ranking.select("query_id", doc_id="chunk_id", score=-pl.col("rank").cast(pl.Float64))
    return pd.DataFrame(qrels.to_dict(as_series=False)), pd.DataFrame(run.to_dict(as_series=False))


def peer(qrels: pd.DataFrame, run: pd.DataFrame) -> int:
    """Return how many values ir_measures computes: four metrics of every query, at once."""
    import ir_measures
    from ir_measures import RR, R, alpha_nDCG, nDCG

    measures = [alpha_nDCG(alpha=1.0) @ 10, nDCG @ 10, R @ 50, RR]
    return sum(1 for _ in ir_measures.iter_calc(measures, qrels, run))


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
    """Print the table line."""
    cell = make_cell()
    inputs = make_peer_inputs(*cell)
    scores = ours(*cell)
    if not all(0 < values.mean() < 1 for values in scores.values()) or peer(*inputs) < 4 * N_QUERIES * 0.99:
        raise SystemExit("the cell is trivial: the comparison would mean nothing")
    mine, theirs = median_seconds(lambda: ours(*cell)), median_seconds(lambda: peer(*inputs))
    name = f"7 metrics, {N_QUERIES:,} x {TOP_K} vs ir_measures' 4"
    print(f"| {name} | {mine:.3f} s | {theirs:.3f} s | {theirs / mine:.1f}x | >= {GOAL}x |")


if __name__ == "__main__":
    main()

"""What is searched and what is asked, and the search of one scope that both kinds of retrieval are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from docstructure.search import Floats, Integers, order_pairs, pair_scores, top_k

SCOPES = ("corpus", "document")
QUERIES_AT_ONCE = 1024
HITS = {"query": pl.Int64, "rank": pl.Int32, "item": pl.Int64, "score": pl.Float32}


@dataclass(frozen=True)
class Index:
    """Vectors and what they stand for (chunks, or sections), in the order that breaks ties.

    Parameters
    ----------
    items
        One row per vector, with its ``doc_id``.
    vectors
        Shape ``(m, d)``, float32.
    source
        File that the items come from, for messages.
    """

    items: pl.DataFrame
    vectors: Floats
    source: str


@dataclass(frozen=True)
class Queries:
    """The queries of a corpus: ``query_id`` and ``doc_id`` of each, and its vector."""

    items: pl.DataFrame
    vectors: Floats


def check_scope(scope: str) -> None:
    """Raise ValueError unless `scope` is one."""
    if scope not in SCOPES:
        raise ValueError(f"scope: {scope!r} is none of {', '.join(SCOPES)}")


def search_scope(index: Index, queries: Queries, scope: str, k: int, threads: int) -> pl.DataFrame:
    """Rank the items of each query's scope.

    Parameters
    ----------
    scope
        ``corpus``: all items; ``document``: the items of the query's own document.
    k
        Ranks per query; a query whose scope is smaller gets all of its scope.

    Returns
    -------
    polars.DataFrame
        ``query`` (row number), ``rank`` (from 1), ``item`` (row number), ``score``, in that order.
    """
    if scope == "document":
        return _search_documents(index, queries, k)
    rows, scores = top_k(queries.vectors, index.vectors, k, threads=threads)
    n, k = rows.shape
    query, rank = np.repeat(np.arange(n), k), np.tile(np.arange(1, k + 1), n)
    return pl.DataFrame({"query": query, "rank": rank, "item": rows.ravel(), "score": scores.ravel()}, schema=HITS)


def rank_pairs(index: Index, queries: Queries, query: Integers, item: Integers, k: int) -> pl.DataFrame:
    """Rank the items that each query is paired with, as `search_scope` ranks a scope; `query` is sorted."""
    scores = pair_scores(queries.vectors, index.vectors, query, item)
    order = order_pairs(query, item, scores)
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    sizes = np.diff(starts, append=len(query))
    rank = np.arange(len(query)) - np.repeat(starts, sizes) + 1
    columns = {"query": query, "rank": rank, "item": item[order], "score": scores[order].astype(np.float32)}
    return pl.DataFrame(columns, schema=HITS).filter(pl.col("rank") <= k)


def _search_documents(index: Index, queries: Queries, k: int) -> pl.DataFrame:
    """Score every item of each query's document: no more than a few hundred pairs a query."""
    asked = queries.items.select("doc_id").with_row_index("query").cast({"query": pl.Int64})
    members = index.items.select("doc_id").with_row_index("item").cast({"item": pl.Int64})
    parts = [pl.DataFrame(schema=HITS)]
    for part in asked.iter_slices(QUERIES_AT_ONCE):
        pairs = part.join(members, on="doc_id").sort("query", "item")
        parts.append(rank_pairs(index, queries, pairs["query"].to_numpy(), pairs["item"].to_numpy(), k))
    return pl.concat(parts)


def chunk_ranking(index: Index, queries: Queries, hits: pl.DataFrame) -> pl.DataFrame:
    """Return ranking rows of hits among chunks; ``routed`` is null where the hits do not have it."""
    routed = hits["routed"] if "routed" in hits.columns else pl.lit(None, pl.Boolean)
    return hits.select(
        query_id=queries.items["query_id"][hits["query"]],
        rank="rank",
        chunk_id=index.items["chunk_id"][hits["item"]],
        score="score",
        routed=routed,
    )

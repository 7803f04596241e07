"""How far word matching alone solves a query set: BM25 gold-top-1 (paper 4, appendix I).

The share of queries for which BM25 ranks a relevant chunk first, over all chunks of a chunk set; relevance is the
metrics' (paper, appendix C). A query of which no chunk has a word that counts is a miss; ties go to the smaller
chunk_id.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import polars as pl

from docstructure.bm25 import Index
from docstructure.contracts.bm25 import BM25
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.metrics import parse
from docstructure.scoring import judge
from docstructure.words import words


def build_bm25(*, documents: str, queries: str, chunks: str, bm25: str) -> None:
    """Write what BM25 ranks first for each query whose document has chunks.

    Parameters
    ----------
    documents, queries, chunks
        Parquet files to read.
    bm25
        Parquet file to write.

    Raises
    ------
    ValueError
        If no query's document has chunks, or no chunk has a word.
    """
    pieces = CHUNKS.read(chunks)
    asked = QUERIES.read(queries).join(pieces, on="doc_id", how="semi", maintain_order="left")
    if not asked.height:
        raise ValueError(f"{queries}: no query is on a document of {chunks}")
    frame = probe(DOCUMENTS.read(documents, columns=["doc_id", "text"]), asked, pieces)
    BM25.write(frame, bm25)
    for line in summary(frame):
        print(line, file=sys.stderr)


def probe(documents: pl.DataFrame, queries: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return what BM25 ranks first, in the order of the queries, by the bm25 contract."""
    ordered = chunks.sort("chunk_id")
    texts = dict(documents.select("doc_id", "text").iter_rows())
    index = Index(
        words(texts[doc][start:end]) for doc, start, end in ordered.select("doc_id", "start", "end").iter_rows()
    )
    tops = [index.top(words(query)) for query in queries["query"]]
    chunk_ids = ordered["chunk_id"].to_list()
    found = BM25.frame(
        {
            "query_id": queries["query_id"],
            "type": queries["type"],
            "chunk_id": [None if top is None else chunk_ids[top[0]] for top in tops],
            "score": [0.0 if top is None else top[1] for top in tops],
            "relevant": [False] * len(tops),
        }
    )
    return found.with_columns(relevant=pl.col("query_id").is_in(_relevant(found, queries, chunks).implode()))


def _relevant(found: pl.DataFrame, queries: pl.DataFrame, chunks: pl.DataFrame) -> pl.Series:
    """Return the queries whose first chunk is relevant."""
    run = found.filter(pl.col("chunk_id").is_not_null()).select("query_id", "chunk_id", rank=pl.lit(1, pl.Int32))
    asked = queries.join(run, on="query_id", how="semi", maintain_order="left")
    if not asked.height:
        return asked["query_id"]
    costed = chunks.with_columns(cost=pl.col("n_tokens")).sort("doc_id", "start", "end")
    # with one chunk per query, the reciprocal rank is 1 where that chunk is relevant
    return asked.filter(pl.Series(parse("mrr").score(judge(asked, costed, run)) == 1))["query_id"]


def summary(frame: pl.DataFrame) -> Iterator[str]:
    """Yield BM25 gold-top-1 of all queries, then of each type."""
    parts = [("all", frame), *((name, frame.filter(type=name)) for name in frame["type"].unique().sort())]
    for name, part in parts:
        hits, misses = int(part["relevant"].sum()), part["chunk_id"].null_count()
        yield f"BM25 gold-top-1, {name}: {hits / part.height:.1%} of {part.height} queries ({misses} without any match)"

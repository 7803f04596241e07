"""Reranked rankings: the top of a ranking in a reranker's order, the rest as it was (paper 5)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from docstructure.contracts.contract import ContractError
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.embedding import view_texts
from docstructure.reranking import RERANKERS
from docstructure.reranking.pairs import Pairs, Scored


def build_reranking(
    *,
    definition: Mapping[str, Any],
    queries: str,
    documents: str,
    chunks: str,
    view: str,
    ranking_in: str,
    threads: int,
    ranking: str,
) -> None:
    """Rerank the first ranks of every query over pairs of the query and prefix + content.

    Parameters
    ----------
    definition
        The reranker, ``{kind: {options}}``.
    queries, documents, chunks, view
        Artifacts that hold the texts.
    ranking_in
        The ranking without a reranker.
    threads
        CPU threads.
    ranking
        Artifact to write.

    Raises
    ------
    ContractError
        If the ranking names a query or chunk that the other artifacts do not have, or its ranks have a gap.
    """
    options, rerank = RERANKERS.resolve(definition)
    before = RANKING.read(ranking_in)
    check_ranks(before, ranking_in)
    top = before.filter(pl.col("rank") <= options.top)
    passages = view_texts(documents, chunks, view).rename({"text": "passage"})
    pairs = pair_up(top, QUERIES.read(queries, columns=["query_id", "query"]), passages, ranking_in)
    scored: Scored = rerank(options, pairs, threads)
    if scored.truncated.any():
        print(
            f"warning: {int(scored.truncated.sum())} of {len(scored.truncated)} pairs are longer than max_length "
            f"{options.max_length} and the reranker did not see the end of their passage",
            file=sys.stderr,
            flush=True,
        )
    RANKING.write(merge(before, top, scored), ranking)


def check_ranks(ranking: pl.DataFrame, source: str) -> None:
    """Raise ContractError unless every query's ranks are 1, 2, 3 … without a gap."""
    gaps = (
        ranking.group_by("query_id", maintain_order=True)
        .agg(pl.len().alias("n"), pl.max("rank"))
        .filter(pl.col("n") != pl.col("rank"))
    )
    if gaps.height:
        raise ContractError(f"{source} (ranking): the ranks of query {gaps['query_id'][0]} have a gap")


def pair_up(top: pl.DataFrame, queries: pl.DataFrame, passages: pl.DataFrame, source: str) -> Pairs:
    """Return the pairs of a ranking's rows, in their order, over distinct texts.

    Parameters
    ----------
    top
        Rows of a ranking.
    queries
        Columns query_id and query.
    passages
        Columns chunk_id and passage.
    source
        The ranking's file, for messages.
    """
    rows = top.select("query_id", "chunk_id").join(queries, on="query_id", how="left", maintain_order="left")
    rows = rows.join(passages, on="chunk_id", how="left", maintain_order="left")
    for column, key in (("query", "query_id"), ("passage", "chunk_id")):
        unknown = rows.filter(pl.col(column).is_null())
        if unknown.height:
            raise ContractError(f"{source} (ranking): no {column} is known for {key} {unknown[key][0]}")
    query_texts, query_of = _distinct(rows["query"])
    passage_texts, passage_of = _distinct(rows["passage"])
    return Pairs(query_texts, passage_texts, query_of, passage_of)


def merge(before: pl.DataFrame, top: pl.DataFrame, scored: Scored) -> pl.DataFrame:
    """Return the ranking `before` with the rows of `top` in the order of their new scores; ties go by chunk_id.

    The other rows keep rank and score; every row keeps ``routed``. Queries keep their order.
    """
    order = before.select(pl.col("query_id").unique(maintain_order=True)).with_row_index("query")
    first = (
        top.with_columns(pl.Series("score", scored.scores, dtype=pl.Float32))
        .sort("query_id", "score", "chunk_id", descending=[False, True, False])
        .with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id").alias("rank"))
    )
    rest = before.join(top.select("query_id", "rank"), on=["query_id", "rank"], how="anti")
    return (
        pl.concat([first.select(RANKING.names), rest.select(RANKING.names)])
        .join(order, on="query_id", how="left")
        .sort("query", "rank")
        .select(RANKING.names)
    )


def _distinct(texts: pl.Series) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the different texts in order of appearance and, for each text, which one it is."""
    first: dict[str, int] = {}
    index = np.fromiter((first.setdefault(text, len(first)) for text in texts), dtype=np.int64, count=len(texts))
    return list(first), index

"""cells/{condition}/{embedder}/{reranker}/ranking.parquet: a cell's ranked chunks per query."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

RANKING = Contract(
    name="ranking",
    columns=(
        Column("query_id", pl.String(), "query"),
        Column("rank", pl.Int32(), "1..top_k: the authority on order"),
        Column("chunk_id", pl.String(), "chunk"),
        Column(
            "score", pl.Float32(), "raw score of the stage that placed it; not monotone after backfill or reranking"
        ),
        Column(
            "routed", pl.Boolean(), "two-stage: whether it came from a routed section; null when flat", nullable=True
        ),
    ),
    key=("query_id", "rank"),
    rules=(
        Rule(pl.col("rank") >= 1, "rank is below 1"),
        Rule(pl.col("score").is_finite(), "score is not finite"),
        Rule(pl.struct("query_id", "chunk_id").is_first_distinct(), "a chunk stands twice in a query's ranking"),
    ),
)

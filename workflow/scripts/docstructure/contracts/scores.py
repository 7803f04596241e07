"""cells/{condition}/{embedder}/{reranker}/scores.parquet: one row per query, one column per metric."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

SCORES = Contract(
    name="scores",
    columns=(
        Column("query_id", pl.String(), "query"),
        Column("doc_id", pl.String(), "document that holds its evidence: the cluster of every test"),
        Column("type", pl.String(), "question type"),
        Column(
            "section_recall",
            pl.Float64(),
            "two-stage: 1 when stage 1 kept a section with evidence; else null",
            nullable=True,
        ),
    ),
    key=("query_id",),
    rules=(
        Rule(
            pl.col("section_recall").is_null() | pl.col("section_recall").is_between(0, 1), "section_recall is no share"
        ),
    ),
    extra=pl.Float64(),
)

"""diagnostics/topics.parquet: documents per topic bucket (paper Table 8)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

TOPICS = Contract(
    name="topics",
    columns=(
        Column("topic", pl.String(), "topic bucket; empty where the corpus has none"),
        Column("n_documents", pl.Int64(), "documents"),
        Column("share", pl.Float64(), "of all documents"),
        Column("n_queries", pl.Int64(), "queries on them"),
    ),
    key=("topic",),
)

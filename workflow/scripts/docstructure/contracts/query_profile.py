"""diagnostics/query_profile.parquet: queries, their documents and their evidence spans, per type (paper 4.1, 4.2)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

QUERY_PROFILE = Contract(
    name="query_profile",
    columns=(
        Column("type", pl.String(), "query type; all for all of them"),
        Column("n_queries", pl.Int64(), "queries"),
        Column("n_documents", pl.Int64(), "documents that they ask about"),
        Column("mean_spans", pl.Float64(), "evidence spans per query"),
        Column("multi_span_share", pl.Float64(), "queries with more than one span"),
        Column("n_eligible", pl.Int64(), "queries whose document is in every index"),
    ),
    key=("type",),
)

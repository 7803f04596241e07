"""query_vectors/{embedder}.parquet: one unit vector per query."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

QUERY_VECTORS = Contract(
    name="query_vectors",
    columns=(
        Column("query_id", pl.String(), "query"),
        Column("vector", pl.Array, "float32 embedding of the query (with its instruction, where one is configured)"),
    ),
    key=("query_id",),
    rules=(Rule(pl.col("vector").arr.sum().is_finite(), "the vector is not finite"),),
)

"""diagnostics/bm25_probe.parquet: how often BM25 ranks a chunk with evidence first (paper I)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

BM25_PROBE = Contract(
    name="bm25_probe",
    columns=(
        Column("boundaries", pl.String(), "chunk set that is indexed"),
        Column("n_queries", pl.Int64(), "queries"),
        Column("n_gold_top_1", pl.Int64(), "queries whose first chunk is relevant by the binary rule"),
        Column("share", pl.Float64(), "n_gold_top_1 / n_queries"),
    ),
    key=("boundaries",),
    rules=(Rule(pl.col("share").is_between(0, 1), "share is no share"),),
)

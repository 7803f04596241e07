"""cells/{condition}/{embedder}/none/routing.parquet: the sections that stage 1 kept for each query (two-stage only)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

ROUTING = Contract(
    name="routing",
    columns=(
        Column("query_id", pl.String(), "query"),
        Column("rank", pl.Int32(), "1..sections"),
        Column("doc_id", pl.String(), "document of the section"),
        Column("section", pl.Int32(), "routing section inside its document"),
        Column("score", pl.Float32(), "inner product of query and section centroid"),
    ),
    key=("query_id", "rank"),
    rules=(Rule(pl.col("rank") >= 1, "rank is below 1"),),
)

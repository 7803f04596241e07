"""statistics/dose_response.parquet: slope of a metric per path depth level along a ladder of conditions (paper 6.6)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

DOSE_RESPONSE = Contract(
    name="dose_response",
    columns=(
        Column("ladder", pl.String(), "name of the ladder"),
        Column("conditions", pl.List(pl.String()), "its conditions, in order of depth"),
        Column("depths", pl.List(pl.Int64()), "levels of their heading paths, in the order of conditions"),
        Column("metric", pl.String(), "metric"),
        Column("embedder", pl.String(), "embedder of the cell"),
        Column("reranker", pl.String(), "reranker of the cell"),
        Column("status", pl.String(), "tested, or why it could not be"),
        Column("n_queries", pl.Int64(), "queries"),
        Column("n_documents", pl.Int64(), "their documents: the clusters"),
        Column("means", pl.List(pl.Float64()), "mean of each step, in the order of conditions", nullable=True),
        Column(
            "slope", pl.Float64(), "mean over queries of the per-query least-squares slope, per level", nullable=True
        ),
        Column("ci_low", pl.Float64(), "lower end of the cluster bootstrap interval", nullable=True),
        Column("ci_high", pl.Float64(), "upper end", nullable=True),
        Column("p", pl.Float64(), "two-sided bootstrap p; 0 means below 2/B", nullable=True),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "ladder",
        "metric",
        "embedder",
        "reranker",
    ),
    rules=(
        Rule((pl.col("status") == "tested") == pl.col("slope").is_not_null(), "status and slope disagree"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

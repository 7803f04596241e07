"""statistics/per_type.parquet: every contrast inside each query type (paper 6.6)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

PER_TYPE = Contract(
    name="per_type",
    columns=(
        Column("contrast", pl.String(), "name of the contrast"),
        Column("minuend", pl.String(), "condition on the left"),
        Column("subtrahend", pl.String(), "condition that is subtracted"),
        Column("type", pl.String(), "query type of this corpus"),
        Column("metric", pl.String(), "metric"),
        Column("embedder", pl.String(), "embedder of the cell"),
        Column("reranker", pl.String(), "reranker of the cell"),
        Column("status", pl.String(), "tested, or why it could not be"),
        Column("n_queries", pl.Int64(), "paired queries of this type"),
        Column("n_documents", pl.Int64(), "their documents: the clusters"),
        Column("delta", pl.Float64(), "unweighted mean of the per-query deltas", nullable=True),
        Column("ci_low", pl.Float64(), "lower end of the cluster bootstrap interval", nullable=True),
        Column("ci_high", pl.Float64(), "upper end", nullable=True),
        Column("p", pl.Float64(), "two-sided bootstrap p; 0 means below 2/B", nullable=True),
        Column("dz", pl.Float64(), "Cohen's d_z; null where the deltas do not vary", nullable=True),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "contrast",
        "type",
        "metric",
        "embedder",
        "reranker",
    ),
    rules=(
        Rule((pl.col("status") == "tested") == pl.col("delta").is_not_null(), "status and delta disagree"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

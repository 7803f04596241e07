"""statistics/noise.parquet: the same cells embedded under another dtype, device or shape scheme."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

NOISE = Contract(
    name="noise",
    columns=(
        Column("reference", pl.String(), "embedder of the study"),
        Column("variant", pl.String(), "embedder that differs in numerics alone"),
        Column("scope", pl.String(), "condition (per-query scores of one cell) or contrast (per-query deltas)"),
        Column("name", pl.String(), "the condition or contrast"),
        Column("reranker", pl.String(), "reranker"),
        Column(
            "metric",
            pl.String(),
            "metric, or top@k: 1 - share of the reference's k first chunks that the variant has among its own",
        ),
        Column("n_queries", pl.Int64(), "queries"),
        Column("n_changed", pl.Int64(), "queries whose value is not the same"),
        Column("max_abs", pl.Float64(), "largest |difference| over queries"),
        Column("mean_abs", pl.Float64(), "mean |difference| over queries"),
        Column("reference_mean", pl.Float64(), "mean of the reference over queries (of the deltas, for a contrast)"),
        Column("variant_mean", pl.Float64(), "the same of the variant"),
        Column("shift", pl.Float64(), "variant_mean - reference_mean"),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "reference",
        "variant",
        "scope",
        "name",
        "reranker",
        "metric",
    ),
    rules=(
        Rule(pl.col("scope").is_in(["condition", "contrast"]), "scope is neither condition nor contrast"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

"""statistics/budget.parquet: mean coverage of each cell under each token budget, prefixes charged (6.2)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

BUDGET = Contract(
    name="budget",
    columns=(
        Column("condition", pl.String(), "condition"),
        Column("embedder", pl.String(), "embedder"),
        Column("reranker", pl.String(), "reranker"),
        Column("budget", pl.Int64(), "tokens of prefix and content together"),
        Column("n", pl.Int64(), "queries"),
        Column("mean", pl.Float64(), "unweighted mean of coverage@Bt over queries"),
        Column(
            "ci_low",
            pl.Float64(),
            "lower end of the cluster bootstrap interval; null with fewer than 2 documents",
            nullable=True,
        ),
        Column("ci_high", pl.Float64(), "upper end", nullable=True),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "condition",
        "embedder",
        "reranker",
        "budget",
    ),
    rules=(
        Rule(pl.col("mean").is_between(0, 1), "mean is no share"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

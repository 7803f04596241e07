"""statistics/power.parquet: standard error, minimal detectable effect, power at given effects."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

POWER = Contract(
    name="power",
    columns=(
        Column("contrast", pl.String(), "name of the contrast"),
        Column("metric", pl.String(), "metric"),
        Column("embedder", pl.String(), "embedder of the cell"),
        Column("reranker", pl.String(), "reranker of the cell"),
        Column("effect", pl.Float64(), "true mean delta at which power is given"),
        Column("n_queries", pl.Int64(), "paired queries"),
        Column("n_documents", pl.Int64(), "their documents: the clusters"),
        Column("sd", pl.Float64(), "standard deviation (ddof 1) of the per-query deltas"),
        Column("se", pl.Float64(), "cluster-robust standard error of the mean delta"),
        Column(
            "design_effect",
            pl.Float64(),
            "variance of the mean over that of as many independent queries; null where deltas do not vary",
            nullable=True,
        ),
        Column(
            "effective_n",
            pl.Float64(),
            "independent queries that would give this standard error; null where deltas do not vary",
            nullable=True,
        ),
        Column("alpha", pl.Float64(), "two-sided level of the test"),
        Column("target_power", pl.Float64(), "power at the minimal detectable effect"),
        Column("mde", pl.Float64(), "minimal detectable effect"),
        Column("power", pl.Float64(), "probability of p < alpha at this effect"),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "contrast",
        "metric",
        "embedder",
        "reranker",
        "effect",
    ),
    rules=(
        Rule(pl.col("power").is_between(0, 1), "power is no probability"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

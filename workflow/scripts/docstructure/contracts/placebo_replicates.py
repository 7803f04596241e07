"""statistics/placebo_replicates.parquet: a placebo contrast over placebos that differ in seed alone (E.3)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

PLACEBO_REPLICATES = Contract(
    name="placebo_replicates",
    columns=(
        Column("contrast", pl.String(), "contrast whose placebo is redrawn"),
        Column("minuend", pl.String(), "condition on the left"),
        Column("subtrahend", pl.String(), "condition that is subtracted"),
        Column("placebo", pl.String(), "which of the two is the draw"),
        Column("seed", pl.Int64(), "seed of its derangement"),
        Column("drawn_first", pl.Boolean(), "whether it is the contrast's own placebo"),
        Column("metric", pl.String(), "metric"),
        Column("embedder", pl.String(), "embedder of the cell"),
        Column("reranker", pl.String(), "reranker of the cell"),
        Column("status", pl.String(), "tested, or why it could not be"),
        Column("n_queries", pl.Int64(), "paired queries"),
        Column("n_documents", pl.Int64(), "their documents: the clusters"),
        Column("delta", pl.Float64(), "unweighted mean of the per-query deltas", nullable=True),
        Column("ci_low", pl.Float64(), "lower end of the cluster bootstrap interval", nullable=True),
        Column("ci_high", pl.Float64(), "upper end", nullable=True),
        Column("p", pl.Float64(), "two-sided bootstrap p; 0 means below 2/B", nullable=True),
        Column("n_draws", pl.Int64(), "draws that were tested, the contrast's own included"),
        Column("draws_mean", pl.Float64(), "mean delta over the draws", nullable=True),
        Column(
            "draws_sd",
            pl.Float64(),
            "standard deviation (ddof 1) of delta over the draws; null with fewer than 2",
            nullable=True,
        ),
        Column("draws_low", pl.Float64(), "smallest delta of a draw", nullable=True),
        Column("draws_high", pl.Float64(), "largest", nullable=True),
        Column("exploratory", pl.Boolean(), "always true: outside the pre-registered family"),
    ),
    key=(
        "contrast",
        "placebo",
        "metric",
        "embedder",
        "reranker",
    ),
    rules=(
        Rule((pl.col("status") == "tested") == pl.col("delta").is_not_null(), "status and delta disagree"),
        Rule(pl.col("exploratory"), "not stamped exploratory"),
    ),
)

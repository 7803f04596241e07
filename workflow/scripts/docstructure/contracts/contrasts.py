"""statistics/contrasts.parquet: one row per contrast, cell and metric."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

_F = pl.Float64()

CONTRASTS = Contract(
    name="contrasts",
    columns=(
        Column("contrast", pl.String(), "name of the contrast: C1 ..."),
        Column("minuend", pl.String(), "condition on the left"),
        Column("subtrahend", pl.String(), "condition that is subtracted"),
        Column("metric", pl.String(), "metric"),
        Column("embedder", pl.String(), "embedder of the cell"),
        Column("reranker", pl.String(), "reranker of the cell"),
        Column("confirmatory", pl.Boolean(), "pre-registered contrast in the pre-registered cell"),
        Column("status", pl.String(), "tested, or why it could not be"),
        Column("n_queries", pl.Int64(), "paired queries"),
        Column("n_documents", pl.Int64(), "their documents: the clusters"),
        Column("delta", _F, "unweighted mean of the per-query deltas", nullable=True),
        Column("ci_low", _F, "lower end of the cluster bootstrap interval", nullable=True),
        Column("ci_high", _F, "upper end", nullable=True),
        Column("p", _F, "two-sided bootstrap p; 0 means below 2/B", nullable=True),
        Column("p_holm", _F, "Holm-adjusted p; null outside the confirmatory family", nullable=True),
        Column("family_size", pl.Int64(), "tests in the Holm family; null outside it", nullable=True),
        Column("dz", _F, "Cohen's d_z: mean over standard deviation (ddof 1) of the deltas", nullable=True),
        Column("p_mixedlm", _F, "score ~ condition, random intercept per document", nullable=True),
        Column("mixedlm_converged", pl.Boolean(), "whether the optimiser converged", nullable=True),
        Column(
            "mixedlm_note", pl.String(), "optimiser, warnings, why a value is missing; empty when nothing is to say"
        ),
        Column("paired_delta", _F, "intercept of delta ~ 1 + (1 | document)", nullable=True),
        Column("p_paired", _F, "p of that intercept", nullable=True),
        Column("paired_converged", pl.Boolean(), "whether it converged", nullable=True),
        Column("paired_note", pl.String(), "as mixedlm_note"),
    ),
    key=("contrast", "metric", "embedder", "reranker"),
    rules=(Rule((pl.col("status") == "tested") == pl.col("delta").is_not_null(), "status and delta disagree"),),
)

"""statistics/means.parquet: the mean of every metric in every cell."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

MEANS = Contract(
    name="means",
    columns=(
        Column("condition", pl.String(), "condition"),
        Column("embedder", pl.String(), "embedder"),
        Column("reranker", pl.String(), "reranker"),
        Column("metric", pl.String(), "metric, or section_recall"),
        Column("mean", pl.Float64(), "unweighted mean over queries"),
        Column("n", pl.Int64(), "queries"),
        Column("confirmatory", pl.Boolean(), "whether the cell and metric are the pre-registered ones"),
    ),
    key=("condition", "embedder", "reranker", "metric"),
)

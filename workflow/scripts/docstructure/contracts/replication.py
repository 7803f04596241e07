"""replication.parquet: every number of the paper beside this run's (paper Tables 1, 2, 8, 9, 10 and prose)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

VERDICTS = ("within tolerance", "same sign and significance", "different", "not measured")

REPLICATION = Contract(
    name="replication",
    columns=(
        Column("id", pl.String(), "identifier in resources/expected.yaml"),
        Column("source", pl.String(), "table or section of the paper"),
        Column("paper_corpus", pl.String(), "corpus of the paper"),
        Column("corpus", pl.String(), "corpus of this run"),
        Column("quantity", pl.String(), "what the number is: delta, ci_low, p_holm, mean ..."),
        Column("subject", pl.String(), "contrast, condition or diagnostic that it is of"),
        Column("metric", pl.String(), "metric; empty for a diagnostic"),
        Column("embedder", pl.String(), "embedder of the paper: weak or strong; empty for a diagnostic"),
        Column("reranker", pl.String(), "reranker of the paper: none or cross_encoder; empty for a diagnostic"),
        Column("expected", pl.Float64(), "the paper's number"),
        Column("bound", pl.String(), "how the paper states it: exactly, below (p < value) or sign (its sign alone)"),
        Column("measured", pl.Float64(), "this run's number; null where the run has none", nullable=True),
        Column("difference", pl.Float64(), "measured - expected", nullable=True),
        Column(
            "tolerance",
            pl.Float64(),
            "largest |difference| that is within tolerance; null where only the direction is compared",
            nullable=True,
        ),
        Column("reason", pl.String(), "why this tolerance"),
        Column("verdict", pl.String(), "within tolerance, same sign and significance, different, or not measured"),
        Column("note", pl.String(), "what the verdict rests on; why nothing was measured"),
    ),
    key=(
        "id",
        "corpus",
    ),
    rules=(
        Rule(pl.col("verdict").is_in(VERDICTS), "verdict is none of the verdicts"),
        Rule((pl.col("verdict") == "not measured") == pl.col("measured").is_null(), "verdict and measured disagree"),
    ),
)

"""diagnostics/span_identity.parquet: chunks whose span is identical to one of the gold chunk set (paper 3.3)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

SPAN_IDENTITY = Contract(
    name="span_identity",
    columns=(
        Column("boundaries", pl.String(), "chunk set"),
        Column("reference", pl.String(), "chunk set that it is compared with"),
        Column("n_documents", pl.Int64(), "documents in both"),
        Column("n_chunks", pl.Int64(), "chunks of these documents"),
        Column("n_identical", pl.Int64(), "of them, with the span of a reference chunk"),
        Column("share", pl.Float64(), "n_identical / n_chunks"),
    ),
    key=(
        "boundaries",
        "reference",
    ),
    rules=(Rule(pl.col("share").is_between(0, 1), "share is no share"),),
)

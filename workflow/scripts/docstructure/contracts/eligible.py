"""eligible.parquet: which documents are in every index of the corpus."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

ELIGIBLE = Contract(
    name="eligible",
    columns=(
        Column("doc_id", pl.String(), "document"),
        Column("eligible", pl.Boolean(), "whether it is in every index"),
        Column("reason", pl.String(), "why it is not; empty when it is"),
    ),
    key=("doc_id",),
    rules=(Rule(pl.col("eligible") == (pl.col("reason") == ""), "eligible and reason disagree"),),
)

"""structures/{structure}.parquet: how each document came through a structure's validation."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

STATUSES = ("ok", "corrected", "repaired", "unusable")

STRUCTURES = Contract(
    name="structures",
    columns=(
        Column("doc_id", pl.String(), "document"),
        Column("status", pl.String(), "ok, corrected (after a second try), repaired (by rule) or unusable"),
        Column("reason", pl.String(), "the violations that were found; empty when ok"),
        Column("n_sections", pl.Int32(), "sections of the document; 0 when unusable"),
    ),
    key=("doc_id",),
    rules=(
        Rule(pl.col("status").is_in(STATUSES), f"status is none of {', '.join(STATUSES)}"),
        Rule((pl.col("n_sections") == 0) == (pl.col("status") == "unusable"), "n_sections and status disagree"),
    ),
)

"""diagnostics/funnel_summary.parquet: what each filter kept and dropped, by reason."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

FUNNEL_SUMMARY = Contract(
    name="funnel_summary",
    columns=(
        Column("stage", pl.String(), "funnel file: corpus, queries, evidence ..."),
        Column("kept", pl.Boolean(), "whether these items went on"),
        Column("reason", pl.String(), "reason code, without its details; empty when none was given"),
        Column("n", pl.Int64(), "items"),
        Column("share", pl.Float64(), "of all items of the stage"),
        Column("n_stage", pl.Int64(), "all items of the stage"),
        Column("n_kept", pl.Int64(), "items of the stage that went on"),
    ),
    key=(
        "stage",
        "kept",
        "reason",
    ),
)

"""diagnostics/structure_summary.parquet: what became of each document's structure (paper Table 9)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

STRUCTURE_SUMMARY = Contract(
    name="structure_summary",
    columns=(
        Column("structure", pl.String(), "structure"),
        Column("n_documents", pl.Int64(), "documents"),
        Column("n_usable", pl.Int64(), "documents with a usable structure"),
        Column("n_ok", pl.Int64(), "usable as given"),
        Column("n_corrected", pl.Int64(), "usable after a second try"),
        Column("n_repaired", pl.Int64(), "usable after a repair by rule"),
        Column("n_unusable", pl.Int64(), "unusable"),
        Column("n_sections", pl.Int64(), "sections of the usable documents"),
        Column("mean_sections", pl.Float64(), "sections per usable document; null where none is usable", nullable=True),
        Column("n_flat", pl.Int64(), "usable documents whose headings are all at the top level"),
        Column("flat_share", pl.Float64(), "their share; null where none is usable", nullable=True),
        Column("max_depth", pl.Int64(), "deepest heading path"),
    ),
    key=("structure",),
)

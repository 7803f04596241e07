"""audit.parquet: the design's invariants, measured on this corpus."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

AUDIT = Contract(
    name="audit",
    columns=(
        Column("invariant", pl.String(), "what must hold, with the artifact it was measured on"),
        Column("value", pl.Float64(), "what was measured"),
        Column("limit", pl.Float64(), "the largest value that holds"),
        Column("holds", pl.Boolean(), "whether it holds"),
    ),
    key=("invariant",),
)

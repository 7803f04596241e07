"""vectors/{embedder}/{view}.parquet: one unit vector per chunk of a view."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

VECTORS = Contract(
    name="vectors",
    columns=(
        Column("chunk_id", pl.String(), "chunk, in the order of its chunk set"),
        Column("vector", pl.Array, "float32 embedding of prefix + content"),
    ),
    key=("chunk_id",),
    rules=(Rule(pl.col("vector").arr.sum().is_finite(), "the vector is not finite"),),
)

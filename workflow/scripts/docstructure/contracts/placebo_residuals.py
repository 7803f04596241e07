"""diagnostics/placebo_residuals.parquet: how well each placebo view is deranged, per depth (paper E.3)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

PLACEBO_RESIDUALS = Contract(
    name="placebo_residuals",
    columns=(
        Column("view", pl.String(), "placebo view"),
        Column("seed", pl.Int64(), "seed of its derangement"),
        Column("depth", pl.Int64(), "elements of the cut paths of this bucket"),
        Column("n_pairs", pl.Int64(), "distinct (document, path) pairs"),
        Column("largest_document", pl.Int64(), "pairs of the document with most of them"),
        Column("largest_string", pl.Int64(), "pairs with the most frequent rendered path"),
        Column("minimum", pl.Int64(), "least possible number of residual pairs"),
        Column("residual", pl.Int64(), "pairs that kept a path of their own document or their own string"),
        Column("n_chunks", pl.Int64(), "chunks of these pairs"),
        Column("residual_chunks", pl.Int64(), "chunks of residual pairs"),
        Column("split_pairs", pl.Int64(), "pairs whose chunks got different paths"),
    ),
    key=(
        "view",
        "depth",
    ),
)

"""diagnostics/size_match.parquet: sizes of each chunk set, and of the chunks that it is matched to (3.2)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

SIZE_MATCH = Contract(
    name="size_match",
    columns=(
        Column("boundaries", pl.String(), "chunk set"),
        Column("matched", pl.String(), "chunk set that its windows are matched to; null for sections", nullable=True),
        Column("n_documents", pl.Int64(), "documents"),
        Column("n_chunks", pl.Int64(), "chunks"),
        Column("mean_tokens", pl.Float64(), "mean content tokens per chunk"),
        Column("sd_tokens", pl.Float64(), "standard deviation (ddof 1); null for one chunk", nullable=True),
        Column("min_tokens", pl.Int64(), "smallest chunk"),
        Column("max_tokens", pl.Int64(), "largest chunk"),
        Column("mean_difference", pl.Float64(), "mean_tokens less that of the matched set", nullable=True),
        Column(
            "unequal_documents",
            pl.Int64(),
            "documents with another number of chunks than in the matched set",
            nullable=True,
        ),
        Column("n_edges", pl.Int64(), "inner window edges", nullable=True),
        Column("n_out_of_reach", pl.Int64(), "of them, without a sentence start in reach", nullable=True),
        Column("out_of_reach_share", pl.Float64(), "their share; null where there is no edge", nullable=True),
    ),
    key=("boundaries",),
)

"""diagnostics/truncation.parquet: prefixes that were cut, and contents above the limit, per view."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

TRUNCATION = Contract(
    name="truncation",
    columns=(
        Column("view", pl.String(), "view"),
        Column("n_chunks", pl.Int64(), "chunks"),
        Column("n_prefixed", pl.Int64(), "chunks with a prefix"),
        Column("n_truncated", pl.Int64(), "chunks whose prefix was cut to fit"),
        Column("n_content_over", pl.Int64(), "chunks whose content alone is above the limit"),
        Column("n_over", pl.Int64(), "chunks whose prefix and content together are above it"),
        Column("mean_prefix_tokens", pl.Float64(), "mean over all chunks"),
        Column("max_prefix_tokens", pl.Int64(), "longest prefix"),
        Column("max_tokens", pl.Int64(), "longest prefix + content"),
        Column("limit", pl.Int64(), "prefix.max_tokens"),
    ),
    key=("view",),
)

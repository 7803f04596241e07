"""chunks/{boundaries}.parquet: chunks that tile every eligible document; content only, no prefix."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

CHUNK_ID = pl.format(
    "{}:{}-{}",
    pl.col("doc_id"),
    pl.col("start").cast(pl.String).str.zfill(9),
    pl.col("end").cast(pl.String).str.zfill(9),
)

CHUNKS = Contract(
    name="chunks",
    columns=(
        Column("chunk_id", pl.String(), "{doc_id}:{start:09d}-{end:09d}"),
        Column("doc_id", pl.String(), "document"),
        Column("start", pl.Int64(), "first character"),
        Column("end", pl.Int64(), "one past the last character"),
        Column("n_tokens", pl.Int32(), "content tokens by the study's tokenizer, no special tokens"),
        Column("path", pl.List(pl.String()), "section titles from the top; null for windows", nullable=True),
        Column("top_section", pl.Int32(), "top-level section that it routes with; null for windows", nullable=True),
    ),
    key=("chunk_id",),
    rules=(
        Rule(pl.col("start") < pl.col("end"), "the chunk has no text"),
        Rule(pl.col("chunk_id") == CHUNK_ID, "chunk_id does not say its document and span"),
    ),
)

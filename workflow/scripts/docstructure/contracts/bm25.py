"""bm25/{boundaries}.parquet: what a keyword search puts first for each query (paper, appendix I)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

BM25 = Contract(
    name="bm25",
    columns=(
        Column("query_id", pl.String(), "query"),
        Column("type", pl.String(), "its type"),
        Column("chunk_id", pl.String(), "the chunk that BM25 ranks first; null where no chunk scores above 0", True),
        Column("score", pl.Float64(), "its BM25 score; 0 for a miss"),
        Column("relevant", pl.Boolean(), "whether it is relevant to one of the query's gold spans"),
    ),
    key=("query_id",),
    rules=(Rule(pl.col("chunk_id").is_not_null() | ~pl.col("relevant"), "a miss is relevant"),),
)

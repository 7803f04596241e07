"""queries.parquet: one row per query with its gold evidence spans."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import SPAN, Column, Contract, Rule

_START = pl.element().struct.field("start")
_END = pl.element().struct.field("end")

QUERIES = Contract(
    name="queries",
    columns=(
        Column("query_id", pl.String(), "identifier without whitespace"),
        Column("doc_id", pl.String(), "document that holds the evidence"),
        Column("query", pl.String(), "the question"),
        Column("type", pl.String(), "question type of this corpus"),
        Column("spans", pl.List(SPAN), "gold evidence, half-open character spans, sorted and disjoint"),
    ),
    key=("query_id",),
    rules=(
        Rule(
            ~pl.col("query_id").str.contains(r"\s") & (pl.col("query_id") != ""), "query_id is empty or has whitespace"
        ),
        Rule(pl.col("query").str.strip_chars() != "", "the query is empty"),
        Rule(pl.col("spans").list.len() > 0, "the query has no evidence span"),
        Rule(
            pl.col("spans").list.eval((_START >= 0) & (_START < _END)).list.all(),
            "an evidence span is empty, reversed or negative",
        ),
        Rule(
            pl.col("spans").list.eval((_END.shift(1) <= _START).fill_null(value=True)).list.all(),
            "evidence spans are unsorted or overlap",
        ),
    ),
)

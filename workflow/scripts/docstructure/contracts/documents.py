"""documents.parquet: one row per document of a corpus."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import SPAN, Column, Contract, Rule

SOURCE = pl.Struct({"path": pl.String, "revision": pl.String, "licence": pl.String})

DOCUMENTS = Contract(
    name="documents",
    columns=(
        Column("doc_id", pl.String(), "identifier without whitespace"),
        Column("title", pl.String(), "title as its author wrote it; may be empty"),
        Column("text", pl.String(), "flat text: paragraphs joined by a blank line, without headings"),
        Column("paragraphs", pl.List(SPAN), "span of each paragraph in the text, in characters"),
        Column("source", SOURCE, "where it came from: path or URL, revision, licence", nullable=True),
        Column("topic", pl.String(), "topic bucket", nullable=True),
    ),
    key=("doc_id",),
    rules=(
        Rule(~pl.col("doc_id").str.contains(r"\s") & (pl.col("doc_id") != ""), "doc_id is empty or has whitespace"),
        Rule(pl.col("paragraphs").list.len() > 0, "the document has no paragraph"),
    ),
)

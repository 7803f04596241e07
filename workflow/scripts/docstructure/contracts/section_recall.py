"""diagnostics/section_recall.parquet: whether stage 1 keeps a section with evidence, by inventory (6.4)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

SECTION_RECALL = Contract(
    name="section_recall",
    columns=(
        Column("condition", pl.String(), "two-stage condition"),
        Column("embedder", pl.String(), "embedder"),
        Column("routed_sections", pl.Int64(), "sections that stage 1 keeps"),
        Column(
            "document_share", pl.Float64(), "share of the other documents in the inventory; 1 is the corpus as it is"
        ),
        Column("n_documents", pl.Int64(), "documents in the inventory"),
        Column("n_sections", pl.Float64(), "sections in the inventory, mean over draws and queries"),
        Column("n_queries", pl.Int64(), "queries"),
        Column("n_draws", pl.Int64(), "random draws of documents that were averaged"),
        Column("section_recall", pl.Float64(), "share of queries for which stage 1 keeps a section with evidence"),
    ),
    key=(
        "condition",
        "embedder",
        "document_share",
    ),
    rules=(Rule(pl.col("section_recall").is_between(0, 1), "section_recall is no share"),),
)

"""source/headings.parquet: the author's headings as the builder found them, before validation.

One row per section of the author's heading tree. A document's text before its first heading is a section without
heading: its path is empty. A document without any row has no headings at all.
"""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

HEADINGS = Contract(
    name="headings",
    columns=(
        Column("doc_id", pl.String(), "document"),
        Column("section", pl.Int32(), "position in the document, from 0"),
        Column("path", pl.List(pl.String()), "titles from the top to this section; empty for text before any heading"),
        Column("par_start", pl.Int32(), "first paragraph of the section's own text"),
        Column("par_end", pl.Int32(), "one past its last own paragraph; equal to par_start where it has none"),
    ),
    key=("doc_id", "section"),
    rules=(Rule(pl.col("par_start") <= pl.col("par_end"), "par_end lies before par_start"),),
)

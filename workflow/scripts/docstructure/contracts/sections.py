"""sections/{structure}.parquet: the sections of one structure; they tile every usable document."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

MAX_LEVEL = 4

SECTIONS = Contract(
    name="sections",
    columns=(
        Column("doc_id", pl.String(), "document"),
        Column("section", pl.Int32(), "position in the document, from 0"),
        Column("level", pl.Int32(), f"nesting level, 1..{MAX_LEVEL} (deeper sections are clamped)"),
        Column("path", pl.List(pl.String()), "section titles from the top at true depth, without the document's title"),
        Column("par_start", pl.Int32(), "first paragraph of the section's own text"),
        Column("par_end", pl.Int32(), "one past its last own paragraph"),
        Column("start", pl.Int64(), "first character"),
        Column("end", pl.Int64(), "one past the last character, the blank line after it included"),
    ),
    key=("doc_id", "section"),
    rules=(
        Rule(pl.col("level").is_between(1, MAX_LEVEL), f"level is outside 1..{MAX_LEVEL}"),
        Rule(pl.col("par_start") < pl.col("par_end"), "the section has no paragraph"),
        Rule(pl.col("start") < pl.col("end"), "the section has no text"),
        Rule(
            (pl.col("path").list.len() == 0) | (pl.col("path").list.len() >= pl.col("level")),
            "the path is shorter than the level (only text before any heading has an empty path)",
        ),
    ),
)

"""funnel/{stage}.parquet: what a stage kept and dropped, item by item, with the reason."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

FUNNEL = Contract(
    name="funnel",
    columns=(
        Column("item_id", pl.String(), "the document, query or evidence item"),
        Column("kept", pl.Boolean(), "whether it went on"),
        Column("reason", pl.String(), "why it was dropped, or how it was kept; a code, with details after a colon"),
    ),
    key=("item_id",),
    rules=(Rule(pl.col("kept") | (pl.col("reason") != ""), "a dropped item has no reason"),),
)

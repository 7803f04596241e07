"""registration.parquet: the pre-registered blocks in the order in which they were recorded, and what each changed."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

REGISTRATION = Contract(
    name="registration",
    columns=(
        Column("entry", pl.Int64(), "position in the record, from 0"),
        Column("digest", pl.String(), "SHA-256 of the block"),
        Column("registered", pl.String(), "when, in UTC"),
        Column("commit", pl.String(), "commit of the checkout; empty outside one"),
        Column(
            "scores_before",
            pl.Int64(),
            "scores that existed when it was recorded; null in records of before that was kept",
            nullable=True,
        ),
        Column(
            "changes",
            pl.List(pl.String()),
            "what it changed from the entry before it: key: old -> new; empty for the first",
        ),
        Column("current", pl.Boolean(), "whether it is the block of the config that runs"),
    ),
    key=("entry",),
)

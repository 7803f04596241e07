"""contexts/{boundaries}.{contextualizer}.parquet: the situating context of each chunk (condition A1)."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

USABLE = ("ok", "corrected", "cut")
STATUSES = (*USABLE, "empty", "failed")

CONTEXTS = Contract(
    name="contexts",
    columns=(
        Column("chunk_id", pl.String(), "chunk"),
        Column("context", pl.String(), "situating context; empty where the status is empty or failed"),
        Column("n_tokens", pl.Int32(), "its tokens by the study's tokenizer"),
        Column(
            "status",
            pl.String(),
            "ok, corrected (by a second try), cut (by rule, still too long), empty (nothing to say) or failed",
        ),
        Column("reason", pl.String(), "what was wrong with the answers; empty when ok"),
    ),
    key=("chunk_id",),
    rules=(
        Rule(pl.col("status").is_in(STATUSES), f"status is none of {', '.join(STATUSES)}"),
        Rule((pl.col("context") != "") == pl.col("status").is_in(USABLE), "context and status disagree"),
    ),
)

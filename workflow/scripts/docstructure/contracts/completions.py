"""An exported cache of a language model's answers: what a second user imports to rebuild every corpus without one."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

FINISHED = ("stop", "length", "too_long", "refused", "error")

COMPLETIONS = Contract(
    name="completions",
    columns=(
        Column(
            "key", pl.String(), "SHA-256 of engine, model, revision, prompt, schema, sampling and answer limit, hex"
        ),
        Column("identity", pl.String(), "engine, model and revision that answered"),
        Column("text", pl.String(), "the answer"),
        Column("finish_reason", pl.String(), "stop, length, too_long, refused or error"),
        Column("n_prompt_tokens", pl.Int64(), "tokens of the prompt, by the engine"),
        Column("n_completion_tokens", pl.Int64(), "tokens of the answer, by the engine"),
        Column("error", pl.String(), "what went wrong; empty when finish_reason is stop"),
    ),
    key=("key",),
    rules=(
        Rule(pl.col("key").str.contains("^[0-9a-f]{64}$"), "key is no SHA-256"),
        Rule(pl.col("finish_reason").is_in(FINISHED), f"finish_reason is none of {', '.join(FINISHED)}"),
    ),
)

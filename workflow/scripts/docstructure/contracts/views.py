"""views/{boundaries}.{prefix}.parquet: the prefix of each chunk, as it is embedded and charged to budgets."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract, Rule

VIEWS = Contract(
    name="views",
    columns=(
        Column("chunk_id", pl.String(), "chunk"),
        Column("prefix", pl.String(), "text put before the content, separator included; empty when none"),
        Column("n_prefix_tokens", pl.Int32(), "tokens that the prefix adds, by the study's tokenizer"),
        Column("prefix_truncated", pl.Boolean(), "whether the prefix was cut to fit the model's limit"),
        Column(
            "donor_doc_id", pl.String(), "document that the placebo's path comes from; null otherwise", nullable=True
        ),
    ),
    key=("chunk_id",),
    rules=(Rule((pl.col("prefix") == "") == (pl.col("n_prefix_tokens") == 0), "prefix and its token count disagree"),),
)

"""diagnostics/stage_costs.parquet: time and memory of each job, from Snakemake's benchmark files."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.contract import Column, Contract

STAGE_COSTS = Contract(
    name="stage_costs",
    columns=(
        Column("rule", pl.String(), "rule"),
        Column("job", pl.String(), "its wildcards, as in the name of the benchmark file; empty where it has none"),
        Column("seconds", pl.Float64(), "wall-clock time"),
        Column("cpu_seconds", pl.Float64(), "processor time; null where it was not measured", nullable=True),
        Column(
            "max_rss_mb",
            pl.Float64(),
            "largest resident memory, MB; null where the job was too short to measure",
            nullable=True,
        ),
        Column("mean_load", pl.Float64(), "processor time / wall-clock time, in percent", nullable=True),
    ),
    key=(
        "rule",
        "job",
    ),
)

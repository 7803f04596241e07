"""Time and memory of every job, from the benchmark files that Snakemake writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.stage_costs import STAGE_COSTS

COLUMNS = {"seconds": "s", "cpu_seconds": "cpu_time", "max_rss_mb": "max_rss", "mean_load": "mean_load"}
NOT_MEASURED = ("-", "NA", "")


class BenchmarkError(ValueError):
    """A file is no benchmark file of Snakemake."""


def build_stage_costs(*, benchmarks: Sequence[str], table: str) -> None:
    """Write ``diagnostics/stage_costs.parquet``: one row per benchmark file, by rule and job.

    Parameters
    ----------
    benchmarks
        Benchmark files, or folders of them: ``{rule}.{wildcards}.tsv``.
    table
        Path that is written.

    Raises
    ------
    BenchmarkError
        If a file is no benchmark file, or two files have one name; the message names the file.
    """
    files = [file for path in benchmarks for file in _files(Path(path))]
    rows = sorted((read_benchmark(file) for file in files), key=lambda row: (row["rule"], row["job"]))
    STAGE_COSTS.write(STAGE_COSTS.frame(rows), table)


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.tsv")) if path.is_dir() else [path]


def read_benchmark(path: Path) -> dict[str, Any]:
    """Return a job's costs; the mean, where a benchmark was repeated."""
    frame = pl.read_csv(path, separator="\t", infer_schema=False)
    missing = [column for column in COLUMNS.values() if column not in frame.columns]
    if missing or not frame.height:
        what = f"column {missing[0]}" if missing else "row"
        raise BenchmarkError(f"{path}: no {what}: it is no benchmark file; delete it and run its rule again")
    rule, _, job = path.name.removesuffix(".tsv").partition(".")
    costs = {name: _mean(frame[column], path) for name, column in COLUMNS.items()}
    if costs["seconds"] is None:
        raise BenchmarkError(f"{path}: no time was measured; delete it and run its rule again")
    return {"rule": rule, "job": job, **costs}


def _mean(values: pl.Series, path: Path) -> float | None:
    known = [value for value in values if value is not None and value not in NOT_MEASURED]
    try:
        return sum(map(float, known)) / len(known) if known else None
    except ValueError as error:
        raise BenchmarkError(f"{path}: column {values.name}: {error}") from None

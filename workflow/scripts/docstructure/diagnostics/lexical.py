"""BM25 gold-top-1 per chunk set (paper, appendix I, Table 10): how far word matching alone solves the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from docstructure.contracts.bm25 import BM25
from docstructure.contracts.bm25_probe import BM25_PROBE


def build_bm25_probe(*, boundaries: Sequence[str], files: Sequence[str], table: str) -> None:
    """Write ``diagnostics/bm25_probe.parquet``: one row per chunk set.

    Parameters
    ----------
    boundaries, files
        Chunk sets, and what BM25 ranked first in each, by the bm25 contract.
    table
        Path that is written.
    """
    rows = [probe_row(name, BM25.read(file)) for name, file in zip(boundaries, files, strict=True)]
    BM25_PROBE.write(BM25_PROBE.frame(rows), table)


def probe_row(boundaries: str, found: pl.DataFrame) -> dict[str, Any]:
    """Return how many queries have a relevant chunk first; a query without any match is a miss."""
    hits = int(found["relevant"].sum())
    return {
        "boundaries": boundaries,
        "n_queries": found.height,
        "n_gold_top_1": hits,
        "share": hits / found.height if found.height else 0.0,
    }

"""Budget curves: coverage of the evidence under each token budget, prefixes charged (paper 6.2). Exploratory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.contracts.budget import BUDGET
from docstructure.metrics import parse
from docstructure.metrics.cutoffs import TokenBudget
from docstructure.statistics.bootstrap import Resampling
from docstructure.statistics.cells import read_cells
from docstructure.statistics.paired import document_codes, fill

COVERAGE = "coverage"


def build_budget(
    *,
    scores: Sequence[Mapping[str, str]],
    metrics: Sequence[str],
    bootstrap_iters: int,
    confidence: float,
    seed: int,
    table: str,
) -> None:
    """Write ``statistics/budget.parquet``: one row per cell and budget, budgets ascending.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    metrics
        Metrics of the study; those of the form ``coverage@Bt`` are read. With none of them the table is empty.
    bootstrap_iters, confidence, seed
        Replicates, level and seed of the cluster bootstrap.
    table
        Path that is written.

    Raises
    ------
    PairingError
        As `docstructure.statistics.cells.read_cells`.
    """
    budgets = budgets_of(metrics)
    cells = read_cells(scores, list(budgets))
    rows: list[dict[str, Any]] = []
    columns: list[NDArray[np.float64]] = []
    for cell in cells:
        for metric, budget in budgets.items():
            values = cell.values(metric)
            columns.append(values)
            rows.append(
                {
                    "condition": cell.condition,
                    "embedder": cell.embedder,
                    "reranker": cell.reranker,
                    "budget": budget,
                    "n": len(values),
                    "mean": float(values.mean()),
                    "ci_low": None,
                    "ci_high": None,
                    "exploratory": True,
                }
            )
    if rows and cells[0].scores["doc_id"].n_unique() > 1:
        documents = document_codes(cells[0].scores["doc_id"])
        fill(rows, columns, documents, Resampling(bootstrap_iters, confidence, seed), value="mean")
        for row in rows:  # a test of coverage against 0 means nothing
            del row["p"]
    BUDGET.write(BUDGET.frame(rows), table)


def budgets_of(metrics: Sequence[str]) -> dict[str, int]:
    """Return the budget in tokens of every ``coverage@Bt`` among the metrics, ascending."""
    found = {}
    for name in metrics:
        metric = parse(name)
        if metric.family == COVERAGE and isinstance(metric.cutoff, TokenBudget):
            found[name] = metric.cutoff.tokens
    return dict(sorted(found.items(), key=lambda item: item[1]))

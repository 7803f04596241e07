"""Depth dose-response: the slope of a metric per path depth level (paper 6.6). Exploratory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.statistics.bootstrap import Resampling
from docstructure.statistics.cells import read_cells
from docstructure.statistics.paired import TESTED, by_key, document_codes, fill, pairing, places

Floats = NDArray[np.float64]
ROUNDING = 1e-12


def build_dose_response(
    *,
    scores: Sequence[Mapping[str, str]],
    ladders: Mapping[str, Mapping[str, int]],
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
    bootstrap_iters: int,
    confidence: float,
    seed: int,
    table: str,
) -> None:
    """Fit every ladder in every cell and metric and write ``statistics/dose_response.parquet``.

    The slope of each query is that of its scores over the depths; queries are then resampled with their documents.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    ladders
        Name to conditions with their depths, 0 without a prefix: ``{depth: {A2: 0, A3-d1: 1, A3-d2: 2, A3: 3}}``.
    unavailable
        Condition to the reason why this corpus does not have it.
    metrics
        Score columns.
    bootstrap_iters, confidence, seed
        Replicates, level and seed of the cluster bootstrap.
    table
        Path that is written.

    Raises
    ------
    ValueError
        If a ladder has fewer than two depths, or cells cannot be paired.
    """
    for name, steps in ladders.items():
        if len(set(steps.values())) < 2:
            raise ValueError(f"ladder {name} is {dict(steps)}; it has at least two depths")
    cells = by_key(read_cells(scores, metrics))
    rows: list[dict[str, Any]] = []
    tested: list[dict[str, Any]] = []
    columns: list[Floats] = []
    for name, steps in ladders.items():
        for where in places(cells):
            status, n_queries, n_documents = pairing(cells, unavailable, list(steps), where)
            for metric in metrics:
                row = dict.fromkeys(DOSE_RESPONSE.names) | {
                    "ladder": name,
                    "conditions": list(steps),
                    "depths": list(steps.values()),
                    "metric": metric,
                    "embedder": where[0],
                    "reranker": where[1],
                    "status": status,
                    "n_queries": n_queries,
                    "n_documents": n_documents,
                    "exploratory": True,
                }
                rows.append(row)
                if status == TESTED:
                    values = np.stack([cells[(step, *where)].values(metric) for step in steps], axis=1)
                    row["means"] = [float(mean) for mean in values.mean(axis=0)]
                    tested.append(row)
                    columns.append(slopes(values, list(steps.values())))
    if tested:
        documents = document_codes(next(iter(cells.values())).scores["doc_id"])
        fill(tested, columns, documents, Resampling(bootstrap_iters, confidence, seed), value="slope")
    DOSE_RESPONSE.write(DOSE_RESPONSE.frame(rows), table)


def slopes(values: Floats, depths: Sequence[int]) -> Floats:
    """Return the least-squares slope of each row per level of depth, shape ``(n_queries,)``.

    Parameters
    ----------
    values
        Scores per query and step, shape ``(n_queries, n_steps)``.
    depths
        Levels of each step; not all equal.
    """
    levels = np.asarray(depths, dtype=np.float64) - np.mean(depths)
    # Centred levels sum to 0, so the intercept drops out; the sum is ordered, whatever BLAS does.
    weighted: Floats = (values * (levels / (levels**2).sum())).sum(axis=1)
    # Of equal scores the rounding is left, and rounding has a sign: the bootstrap would test it.
    weighted[np.abs(weighted) <= ROUNDING] = 0
    return weighted

"""Mean of every metric in every cell, section recall included (paper 6.2 and 6.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docstructure.contracts.means import MEANS
from docstructure.statistics.cells import Cell, read_cells

SECTION_RECALL = "section_recall"


def build_means(
    *, scores: Sequence[Mapping[str, str]], preregistration: Mapping[str, Any], metrics: Sequence[str], table: str
) -> None:
    """Write ``statistics/means.parquet``: one row per cell and metric, in the order of `scores` and `metrics`.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    preregistration
        ``{cell: {metric, embedder, reranker}, ...}``: says which means are of the pre-registered cell.
    metrics
        Score columns. Section recall is added where a cell has it, over the queries that have it.
    table
        Path that is written.

    Raises
    ------
    PairingError
        As `docstructure.statistics.cells.read_cells`.
    """
    rows = [row for cell in read_cells(scores, metrics) for row in _means(cell, preregistration["cell"], metrics)]
    MEANS.write(MEANS.frame(rows), table)


def _means(cell: Cell, primary: Mapping[str, str], metrics: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for metric in (*metrics, SECTION_RECALL):
        values = cell.scores[metric].drop_nulls()
        if values.is_empty():
            continue
        registered = (metric, cell.embedder, cell.reranker) == tuple(
            primary[noun] for noun in ("metric", "embedder", "reranker")
        )
        rows.append(
            {
                "condition": cell.condition,
                "embedder": cell.embedder,
                "reranker": cell.reranker,
                "metric": metric,
                "mean": float(values.to_numpy().mean()),
                "n": len(values),
                "confirmatory": registered,
            }
        )
    return rows

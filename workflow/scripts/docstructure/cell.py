"""The unit of rerun: score one cell and write down what made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docstructure.provenance import write_provenance
from docstructure.scoring import build_scores


def score_cell(
    *,
    queries: str,
    chunks: str,
    view: str,
    ranking: str,
    routing: str,
    expected: str,
    metrics: Sequence[str],
    section: str | None,
    made_of: Mapping[str, Any],
    scores: str,
    provenance: str,
) -> None:
    """Write a cell's scores, and its provenance beside them.

    Parameters
    ----------
    queries, chunks, view, ranking, routing
        Artifacts of the cell (paths).
    expected
        The embedder's query vectors: exactly these queries must be in the ranking.
    metrics
        Names of the metrics.
    section
        What two-stage retrieval routes to; None when flat.
    made_of
        Every definition and setting of the cell.
    scores, provenance
        Files to write.
    """
    build_scores(
        metrics=metrics,
        queries=queries,
        chunks=chunks,
        view=view,
        ranking=ranking,
        routing=routing,
        expected=expected,
        section=section,
        scores=scores,
    )
    write_provenance(made_of, provenance)

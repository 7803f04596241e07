"""What every test of paired per-query deltas shares: which cells can be paired, and the bootstrap over documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.cells import Cell

TESTED = "tested"

Cells = Mapping[tuple[str, str, str], Cell]
Where = tuple[str, str]


def by_key(cells: Iterable[Cell]) -> dict[tuple[str, str, str], Cell]:
    """Return the cells by condition, embedder and reranker."""
    return {cell.key: cell for cell in cells}


def places(cells: Cells) -> list[Where]:
    """Return every (embedder, reranker) that has a cell, in the order of the cells."""
    return list(dict.fromkeys(key[1:] for key in cells))


def document_codes(doc_ids: pl.Series) -> NDArray[np.int64]:
    """Return the document of each query, numbered from 0 in the order of their ids, shape ``(n_queries,)``."""
    return doc_ids.rank("dense").cast(pl.Int64).to_numpy() - 1


def pairing(
    cells: Cells, unavailable: Mapping[str, str], conditions: Sequence[str], where: Where
) -> tuple[str, int, int]:
    """Return whether conditions can be compared in a place, with its numbers of queries and documents.

    Parameters
    ----------
    cells
        Scored cells of one corpus.
    unavailable
        Condition to the reason why this corpus does not have it.
    conditions
        Conditions that are compared.
    where
        Embedder and reranker.

    Returns
    -------
    tuple
        ``tested`` or why not, the number of paired queries and that of their documents.
    """
    for condition in conditions:
        if condition in unavailable:
            return f"unavailable: {condition} ({unavailable[condition]})", 0, 0
        if (condition, *where) not in cells:
            return f"not run: {condition} has no scores in this cell", 0, 0
    scores = cells[(conditions[0], *where)].scores
    n_documents = scores["doc_id"].n_unique()
    if n_documents < 2:
        return f"not tested: {n_documents} document; a cluster bootstrap needs 2", scores.height, n_documents
    return TESTED, scores.height, n_documents


def deltas(cells: Cells, minuend: str, subtrahend: str, where: Where, metric: str) -> NDArray[np.float64]:
    """Return the per-query deltas of two conditions, shape ``(n_queries,)``."""
    return cells[(minuend, *where)].values(metric) - cells[(subtrahend, *where)].values(metric)


def fill(
    rows: Sequence[dict[str, Any]],
    columns: Sequence[NDArray[np.float64]],
    documents: NDArray[np.int64],
    resampling: Resampling,
    value: str = "delta",
) -> None:
    """Put mean, interval and p of each column into its row; all columns share one bootstrap.

    Parameters
    ----------
    rows
        One per column; `value`, ``ci_low``, ``ci_high`` and ``p`` are set.
    columns
        Per-query values, each of shape ``(n_queries,)``.
    documents
        Document of each query, numbered from 0 without a gap.
    resampling
        Replicates, level and seed.
    value
        Key of the mean.
    """
    if not rows:
        return
    result = cluster_bootstrap(np.stack(list(columns), axis=1), documents, resampling)
    for index, (row, column) in enumerate(zip(rows, columns, strict=True)):
        row[value] = float(column.mean())
        row["ci_low"], row["ci_high"] = float(result.ci_low[index]), float(result.ci_high[index])
        row["p"] = float(result.p[index])

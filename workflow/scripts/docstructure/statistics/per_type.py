"""Contrasts inside each query type (paper 6.6). Exploratory: taxonomies of two corpora cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.per_type import PER_TYPE
from docstructure.statistics.bootstrap import Resampling
from docstructure.statistics.cells import PairingError, read_cells
from docstructure.statistics.effect_size import cohens_dz
from docstructure.statistics.paired import TESTED, Cells, by_key, deltas, document_codes, fill, pairing, places


def build_per_type(
    *,
    scores: Sequence[Mapping[str, str]],
    contrasts: Mapping[str, Sequence[str]],
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
    bootstrap_iters: int,
    confidence: float,
    seed: int,
    table: str,
) -> None:
    """Test every contrast among the queries of each type and write ``statistics/per_type.parquet``.

    Documents without a query of the type are not drawn: the clusters of a type are the documents that it asks about.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    contrasts
        Name to ``[minuend, subtrahend]``.
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
    PairingError
        If cells cannot be paired, or one gives a query another type.
    """
    cells = by_key(read_cells(scores, metrics))
    resampling = Resampling(bootstrap_iters, confidence, seed)
    rows: list[dict[str, Any]] = []
    for part in _parts(cells):
        found = _rows(part, cells, contrasts, unavailable, metrics)
        _test(found, part, cells, resampling)
        rows += found
    order = {name: position for position, name in enumerate(contrasts)}
    rows.sort(key=lambda row: order[row["contrast"]])
    PER_TYPE.write(PER_TYPE.frame(rows), table)


@dataclass(frozen=True)
class _Part:
    """The queries of one type: where they stand among all, and their documents."""

    kind: str
    chosen: NDArray[np.bool_]
    doc_ids: pl.Series


def _parts(cells: Cells) -> list[_Part]:
    """Return the queries of each type, in the order of the types' names.

    Raises
    ------
    PairingError
        If a cell gives a query another type than the first.
    """
    if not cells:
        return []
    first = next(iter(cells.values()))
    types = first.scores["type"]
    for cell in cells.values():
        moved = types != cell.scores["type"]
        if moved.any():
            query = cell.scores["query_id"][int(moved.arg_true()[0])]
            raise PairingError(f"{cell.path}: query {query} has another type than in {first.path}")
    parts = []
    for kind in types.unique().sort():
        chosen = types == kind
        parts.append(_Part(kind, chosen.to_numpy(), first.scores["doc_id"].filter(chosen)))
    return parts


def _rows(
    part: _Part,
    cells: Cells,
    contrasts: Mapping[str, Sequence[str]],
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the rows of one type, with nothing measured."""
    rows = []
    for name, (minuend, subtrahend) in contrasts.items():
        for where in places(cells):
            status, n_queries, n_documents = pairing(cells, unavailable, (minuend, subtrahend), where)
            if status == TESTED:
                n_queries, n_documents = len(part.doc_ids), part.doc_ids.n_unique()
                status = TESTED if n_documents > 1 else "not tested: 1 document; a cluster bootstrap needs 2"
            for metric in metrics:
                rows.append(
                    dict.fromkeys(PER_TYPE.names)
                    | {
                        "contrast": name,
                        "minuend": minuend,
                        "subtrahend": subtrahend,
                        "type": part.kind,
                        "metric": metric,
                        "embedder": where[0],
                        "reranker": where[1],
                        "status": status,
                        "n_queries": n_queries,
                        "n_documents": n_documents,
                        "exploratory": True,
                    }
                )
    return rows


def _test(rows: Sequence[dict[str, Any]], part: _Part, cells: Cells, resampling: Resampling) -> None:
    """Fill in what is measured of the rows of one type; all share one bootstrap."""
    tested = [row for row in rows if row["status"] == TESTED]
    columns = [
        deltas(cells, row["minuend"], row["subtrahend"], (row["embedder"], row["reranker"]), row["metric"])[part.chosen]
        for row in tested
    ]
    fill(tested, columns, document_codes(part.doc_ids), resampling)
    for row, column in zip(tested, columns, strict=True):
        row["dz"] = cohens_dz(column)

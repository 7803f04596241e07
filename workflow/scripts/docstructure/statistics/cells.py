"""The scored cells that statistics are made of: read, checked and brought into one order of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.scores import SCORES


class PairingError(ValueError):
    """Scores cannot be paired: a cell is given twice, or two cells hold different queries, documents or metrics."""


@dataclass(frozen=True)
class Cell:
    """The scores of one condition, embedder and reranker; rows in the order of query_id."""

    condition: str
    embedder: str
    reranker: str
    path: str
    scores: pl.DataFrame

    @property
    def key(self) -> tuple[str, str, str]:
        """Condition, embedder and reranker."""
        return self.condition, self.embedder, self.reranker

    def values(self, metric: str) -> NDArray[np.float64]:
        """Return the score of every query, shape ``(n_queries,)``."""
        return self.scores[metric].to_numpy()


def read_cells(scores: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> list[Cell]:
    """Read the cells of one corpus.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each cell.
    metrics
        Score columns that each must have, without a null or NaN.

    Raises
    ------
    PairingError
        If a cell stands twice, lacks a metric, has a score that is no number in [0, 1], or does not hold the same
        queries of the same documents as the first; the message names the file and the first query.
    """
    cells: list[Cell] = []
    for entry in scores:
        frame = SCORES.read(entry["path"]).sort("query_id")
        cell = Cell(entry["condition"], entry["embedder"], entry["reranker"], entry["path"], frame)
        if cell.key in {other.key for other in cells}:
            raise PairingError(f"{cell.path}: cell {'/'.join(cell.key)} is given twice")
        _check_scores(cell, metrics)
        if cells:
            _check_pairing(cells[0], cell)
        cells.append(cell)
    return cells


def _check_scores(cell: Cell, metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in cell.scores.columns:
            raise PairingError(f"{cell.path}: metric {metric} is missing; it has {', '.join(cell.scores.columns[4:])}")
        good = cell.scores[metric].is_between(0, 1).fill_null(value=False)
        if not good.all():
            query = cell.scores["query_id"][int((~good).arg_true()[0])]
            raise PairingError(f"{cell.path}: {metric} of query {query} is no score in [0, 1]")


def _check_pairing(first: Cell, cell: Cell) -> None:
    for here, there in ((first, cell), (cell, first)):
        unpaired = here.scores.join(there.scores, on="query_id", how="anti")
        if unpaired.height:
            raise PairingError(
                f"{there.path}: query {unpaired['query_id'][0]} of {here.path} is missing "
                f"({unpaired.height} such queries); deltas are paired by query"
            )
    moved = first.scores["doc_id"] != cell.scores["doc_id"]
    if moved.any():
        query = cell.scores["query_id"][int(moved.arg_true()[0])]
        raise PairingError(f"{cell.path}: query {query} belongs to another document than in {first.path}")

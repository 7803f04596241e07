"""The sections that two-stage retrieval routes to: their numbers and their centroids (paper 3.2, appendix J)."""

from __future__ import annotations

import numpy as np
import polars as pl

from docstructure.retrieval.index import Index
from docstructure.routing_sections import number_sections
from docstructure.search import Floats, Integers


def section_index(index: Index, section: str) -> tuple[Index, Integers]:
    """Return the sections of an index of chunks with their centroids, and the row of each chunk's section among them.

    A centroid is the renormalised mean of the chunk vectors that flat search reads. It is computed in float64 in the
    order of the chunks and rounded to float32, so it has the same bits everywhere.

    Raises
    ------
    ValueError
        If a chunk has no section, or the vectors of a section cancel out.
    """
    keys = index.items.select("doc_id", section=number_sections(index.items, section, index.source))
    items = keys.unique().sort("doc_id", "section")
    row = keys.join(items.with_row_index("row"), on=["doc_id", "section"], how="left", maintain_order="left")["row"]
    owner = row.cast(pl.Int64).to_numpy()
    centroids, length = _centroids(index.vectors, owner, items.height)
    for doc_id, number in items.filter(pl.Series(length == 0)).iter_rows():
        raise ValueError(
            f"{index.source}: the vectors of section {number} of document {doc_id} cancel out; no centroid"
        )
    return Index(items, centroids, index.source), owner


def _centroids(vectors: Floats, owner: Integers, n: int) -> tuple[Floats, np.ndarray]:
    """Return the renormalised mean vector of each owner, and its length before that."""
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=n)
    starts = np.cumsum(sizes) - sizes
    means = np.zeros((n, vectors.shape[1]))
    for place in range(int(sizes.max())):  # chunk by chunk: the order of the additions is fixed
        more = np.flatnonzero(sizes > place)
        means[more] += vectors[order[starts[more] + place]]
    means /= sizes[:, None]
    squares = means * means
    while squares.shape[1] > 1:
        half = (squares.shape[1] + 1) // 2
        squares[:, : squares.shape[1] - half] += squares[:, half:]
        squares = squares[:, :half]
    length = np.sqrt(squares)
    return (means / np.where(length == 0, 1, length)).astype(np.float32), length[:, 0]

"""Score files of a small grid, for the tests of what is made of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from docstructure.contracts.scores import SCORES


def make_scores(path, values, *, documents, types=None, recall=None):
    """Write one cell's scores: `values` is metric -> array; query ids follow the row."""
    n = len(documents)
    frame = pl.DataFrame(
        {
            "query_id": [f"q{index:04d}" for index in range(n)],
            "doc_id": list(documents),
            "type": ["why"] * n if types is None else list(types),
            "section_recall": pl.Series([None] * n if recall is None else recall, dtype=pl.Float64),
            **{name: np.asarray(column, dtype=float) for name, column in values.items()},
        }
    )
    SCORES.write(frame, path)
    return str(path)


def entry(condition, embedder, reranker, path):
    return {"condition": condition, "embedder": embedder, "reranker": reranker, "path": str(path)}


def documents_of(sizes):
    return [f"d{doc:03d}" for doc, size in enumerate(sizes) for _ in range(size)]


RESAMPLING = {"bootstrap_iters": 400, "confidence": 0.95, "seed": 5}

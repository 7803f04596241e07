"""Per-query scores of all cells as a folder that ``datasets.load_dataset`` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from docstructure.contracts.scores import SCORES
from docstructure.exports.files import write_with

CELL = ("corpus", "condition", "embedder", "reranker")
DATA = "data/scores.parquet"

CARD = """---
pretty_name: Per-query retrieval scores of a docstructure study
configs:
- config_name: scores
  default: true
  data_files:
  - split: test
    path: {data}
---

# Per-query retrieval scores

One row per cell and query: {rows:,} rows of {cells:,} cells ({corpora}). A cell is named by `corpus`, `condition`,
`embedder` and `reranker`; `doc_id` is the document that holds the query's evidence and the cluster of every test. A
metric that a cell does not have is null, never 0.

Metrics: {metrics}.

```python
from datasets import load_dataset
scores = load_dataset("path/to/this/folder", split="test")
```
"""


def export_hub(scores: Sequence[Mapping[str, str]], folder: str) -> None:
    """Write the scores of all cells as one dataset with its card.

    Parameters
    ----------
    scores
        One entry per cell: ``{corpus, condition, embedder, reranker, path}``, with the path of its scores.parquet.
    folder
        Where ``README.md`` and ``data/scores.parquet`` are written.

    Raises
    ------
    ValueError
        If there is no cell, an entry lacks a key, or a cell is given twice.
    """
    frame = combine(scores)
    metrics = [name for name in frame.columns if name not in (*CELL, "query_id", "doc_id", "type")]
    card = CARD.format(
        data=DATA,
        rows=frame.height,
        cells=len(scores),
        corpora=", ".join(frame["corpus"].unique(maintain_order=True)),
        metrics=", ".join(f"`{name}`" for name in metrics),
    )
    target = Path(folder)
    write_with(target / DATA, lambda path: frame.write_parquet(path, compression="zstd"))
    write_with(target / "README.md", lambda path: path.write_text(card, encoding="utf-8"))


def combine(scores: Sequence[Mapping[str, str]]) -> pl.DataFrame:
    """Return the scores of all cells in one frame, cell by cell in the given order."""
    if not scores:
        raise ValueError("no scores to export: give at least one cell")
    frames, seen = [], set()
    for entry in scores:
        missing = [key for key in (*CELL, "path") if key not in entry]
        if missing:
            raise ValueError(f"scores: {dict(entry)} lacks {', '.join(missing)}")
        cell = tuple(entry[key] for key in CELL)
        if cell in seen:
            raise ValueError(f"scores: cell {'/'.join(cell)} is given twice")
        seen.add(cell)
        names = [pl.lit(value).alias(key) for key, value in zip(CELL, cell, strict=True)]
        frames.append(SCORES.read(entry["path"]).select(*names, pl.all()))
    return pl.concat(frames, how="diagonal")

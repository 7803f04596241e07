"""Two conditions over three documents, scored by the library: what the explorer is made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.views import VIEWS
from docstructure.scoring import build_scores
from tests.unit.report_run import TEMPLATES

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
# Characters beyond the basic plane come before the evidence: offsets are code points.
TEXTS = {
    "owl": f"🦉🦉 Owls hear with uneven ears. {HOSTILE} They fly without a sound at night.",
    "tide": "Tides follow the moon. Spring tides are the largest of the month & come twice.",
    "salt": "Salt was mined. Salt was traded. Salt was taxed.",
}
EVIDENCE = {"q1": ("owl", "uneven ears"), "q2": ("tide", "Spring tides are the largest"), "q3": ("salt", "taxed")}
CUTS = {"fixed": 24, "induced": 37}


def write_explorer_run(folder):
    """Write artifacts of both conditions; return the arguments of `build_explorer`."""
    folder = Path(folder)
    _write_corpus(folder)
    sides = {}
    for side, condition, boundaries, seed in (("minuend", "A3", "induced", 1), ("subtrahend", "A1", "fixed", 2)):
        sides[side] = condition
        sides |= {f"{side}_{name}": path for name, path in _write_cell(folder, condition, boundaries, seed).items()}
    return {
        "corpus": "demo",
        "comparisons": [{"contrast": "C1", "embedder": "minilm", "reranker": "none", **sides}],
        "documents": str(folder / "documents.parquet"),
        "queries": str(folder / "queries.parquet"),
        "metric": "cov_ndcg@10",
        "n_queries": 20,
        "n_ranks": 5,
        "max_characters": 3000,
        "report": str(folder / "report" / "index.html"),
        "templates": TEMPLATES,
        "page": str(folder / "report" / "explorer" / "demo.html"),
    }


def _write_corpus(folder):
    documents = [
        {
            "doc_id": doc_id,
            "title": HOSTILE if doc_id == "owl" else doc_id.title(),
            "text": text,
            "paragraphs": [{"start": 0, "end": len(text)}],
            "source": None,
            "topic": None,
        }
        for doc_id, text in TEXTS.items()
    ]
    DOCUMENTS.write(DOCUMENTS.frame(documents), folder / "documents.parquet")
    queries = []
    for query_id, (doc_id, phrase) in EVIDENCE.items():
        start = TEXTS[doc_id].index(phrase)
        span = {"start": start, "end": start + len(phrase)}
        queries.append(
            {"query_id": query_id, "doc_id": doc_id, "query": f"{query_id}? {HOSTILE}", "type": "why", "spans": [span]}
        )
    QUERIES.write(QUERIES.frame(queries), folder / "queries.parquet")
    vectors = pl.DataFrame(
        {"query_id": list(EVIDENCE), "vector": np.eye(3, dtype=np.float32)},
        schema={"query_id": pl.String, "vector": pl.Array(pl.Float32, 3)},
    )
    QUERY_VECTORS.write(vectors, folder / "query_vectors.parquet")


def _write_cell(folder, condition, boundaries, seed):
    size, pieces = CUTS[boundaries], []
    for doc_id, text in TEXTS.items():
        for start in range(0, len(text), size):
            end = min(start + size, len(text))
            chunk_id = f"{doc_id}:{start:09d}-{end:09d}"
            pieces.append({"chunk_id": chunk_id, "doc_id": doc_id, "start": start, "end": end, "n_tokens": 9})
    paths = {
        name: str(folder / condition / f"{name}.parquet") for name in ("chunks", "view", "ranking", "routing", "scores")
    }
    CHUNKS.write(CHUNKS.frame([{**piece, "path": None, "top_section": None} for piece in pieces]), paths["chunks"])
    prefix = f"[{HOSTILE}] "
    view = [
        {
            "chunk_id": piece["chunk_id"],
            "prefix": prefix,
            "n_prefix_tokens": 3,
            "prefix_truncated": False,
            "donor_doc_id": "tide" if condition == "A3" else None,
        }
        for piece in pieces
    ]
    VIEWS.write(VIEWS.frame(view), paths["view"])
    RANKING.write(RANKING.frame(list(_ranking(pieces, seed))), paths["ranking"])
    ROUTING.write(ROUTING.frame([]), paths["routing"])
    build_scores(
        metrics=["cov_ndcg@10", "mrr"],
        queries=str(folder / "queries.parquet"),
        expected=str(folder / "query_vectors.parquet"),
        section=None,
        **paths,
    )
    return {name: paths[name] for name in ("chunks", "view", "ranking", "scores")}


def _ranking(pieces, seed):
    rng = np.random.default_rng(seed)
    for query_id in EVIDENCE:
        for rank, index in enumerate(rng.permutation(len(pieces))[:8], start=1):
            placed = {"query_id": query_id, "rank": rank, "chunk_id": pieces[index]["chunk_id"]}
            yield {**placed, "score": 1 / rank, "routed": None}

"""explorer/{corpus}.html: why one condition beats another, query by query, with both rankings side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.scores import SCORES
from docstructure.contracts.views import VIEWS
from docstructure.report.gains import discounted, gain, ideal, marks
from docstructure.report.page import render, write_page
from docstructure.spans import Span

SIDES = ("minuend", "subtrahend")
AGREES = 1e-6
"""Largest difference between a score that this page adds up and the one that was computed."""


class ExplorerError(ValueError):
    """The artifacts of a comparison contradict one another; a page made of them would mislead."""


@dataclass(frozen=True)
class Limits:
    """What keeps the page small.

    Parameters
    ----------
    queries
        Queries per contrast: those with the largest differences.
    ranks
        Ranks per side.
    characters
        Of a chunk's text.
    """

    queries: int
    ranks: int
    characters: int


@dataclass
class Store:
    """Texts that the page holds once, however often they are ranked."""

    chunks: dict[str, dict[str, Any]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What every comparison of a corpus is read with."""

    asked: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, Mapping[str, Any]]
    metric: str
    limits: Limits
    store: Store

    def title(self, doc_id: str) -> str:
        """Return the title of a document, its id where it has none."""
        return str(self.texts[doc_id]["title"] or doc_id)


@dataclass(frozen=True)
class Gold:
    """The evidence of a query."""

    query_id: str
    doc_id: str
    spans: list[Span]


@dataclass(frozen=True)
class Side:
    """One condition of a comparison, for the chosen queries."""

    condition: str
    scores: Mapping[str, float]
    ranking: Mapping[str, list[Mapping[str, Any]]]
    chunks: Mapping[str, Mapping[str, Any]]
    tiling: Mapping[str, list[Span]]
    view: str


def build_explorer(
    *,
    corpus: str,
    comparisons: Sequence[Mapping[str, str]],
    documents: str,
    queries: str,
    metric: str,
    n_queries: int,
    n_ranks: int,
    max_characters: int,
    report: str,
    templates: str,
    page: str,
) -> None:
    """Write the explorer of one corpus: a self-contained page that holds its data.

    Parameters
    ----------
    corpus
        Its name.
    comparisons
        One per contrast and cell: ``contrast``, ``embedder``, ``reranker``, ``minuend``, ``subtrahend`` (conditions)
        and, for each of the two, ``{side}_scores``, ``{side}_ranking``, ``{side}_chunks``, ``{side}_view`` (paths).
    documents, queries
        Artifacts of the corpus (paths).
    metric
        Column of the scores that is explained. The gains of ``cov_ndcg@k`` are added up and must give the score.
    n_queries, n_ranks, max_characters
        The page holds the `n_queries` queries with the largest differences per comparison (of equal ones the first by
        id), the first `n_ranks` ranks of each side and `max_characters` of each chunk.
    report
        Page to link back to.
    templates
        Folder with ``explorer.html.j2``, ``style.css``, ``explorer.css`` and ``explorer.js``.
    page
        File to write.

    Raises
    ------
    ExplorerError
        If the two sides do not hold the same queries, or the gains do not add up to the score.
    """
    limits = Limits(n_queries, n_ranks, max_characters)
    texts = {row["doc_id"]: row for row in DOCUMENTS.read(documents).iter_rows(named=True)}
    asked = {row["query_id"]: row for row in QUERIES.read(queries).iter_rows(named=True)}
    reading = Reading(asked, texts, metric, limits, Store())
    compared = [_compare(one, reading) for one in comparisons]
    texts_held = {"chunks": reading.store.chunks, "documents": reading.store.documents}
    data = {"metric": metric, "comparisons": compared, **texts_held}
    context = {
        "corpus": corpus,
        "metric": metric,
        "limits": limits,
        "comparisons": compared,
        "data": embed(data),
        "report": Path(os.path.relpath(report, Path(page).parent)).as_posix(),
    }
    write_page(render("explorer.html.j2", templates, context), page)


def embed(data: Any) -> str:  # noqa: ANN401 (any JSON value)
    """Return JSON that no text in it can end early, as it stands inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _compare(comparison: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    deltas = _deltas(comparison, reading.metric)
    chosen = _largest(deltas, reading.limits.queries)
    sides = [_side(comparison, side, chosen["query_id"].to_list(), reading.metric) for side in SIDES]
    names = ("contrast", "embedder", "reranker", *SIDES)
    return {
        **{name: comparison[name] for name in names},
        **_summary(deltas),
        "queries": [
            _query(query_id, delta, sides, reading)
            for query_id, delta in chosen.select("query_id", "delta").iter_rows()
        ],
    }


def _query(query_id: str, delta: float, sides: Sequence[Side], reading: Reading) -> dict[str, Any]:
    query = reading.asked[query_id]
    gold = Gold(query_id, query["doc_id"], [(span["start"], span["end"]) for span in query["spans"]])
    return {
        "id": query_id,
        "query": query["query"],
        "type": query["type"],
        "doc": gold.doc_id,
        "document": reading.title(gold.doc_id),
        "delta": delta,
        "sides": [_shown(side, gold, reading) for side in sides],
        "evidence": [_evidence(span, gold, sides, reading) for span in gold.spans],
    }


def _deltas(comparison: Mapping[str, str], metric: str) -> pl.DataFrame:
    left, right = (
        SCORES.read(comparison[f"{side}_scores"], columns=["query_id", metric]).rename({metric: side}) for side in SIDES
    )
    both = left.join(right, on="query_id", how="inner", maintain_order="left")
    if not both.height == left.height == right.height:
        raise ExplorerError(
            f"{comparison['minuend_scores']} and {comparison['subtrahend_scores']} do not hold the same queries "
            f"({left.height} and {right.height}, {both.height} in both): run the workflow again"
        )
    return both.with_columns(delta=pl.col("minuend") - pl.col("subtrahend"))


def _largest(deltas: pl.DataFrame, n: int) -> pl.DataFrame:
    return deltas.sort(pl.col("delta").abs(), pl.col("query_id"), descending=[True, False]).head(n)


def _summary(deltas: pl.DataFrame) -> dict[str, Any]:
    """Return how the queries fall out: their mean difference, and how many are better, worse and equal."""
    return {
        "delta": deltas["delta"].mean() if deltas.height else 0.0,
        "n": deltas.height,
        "better": int((deltas["delta"] > 0).sum()),
        "worse": int((deltas["delta"] < 0).sum()),
    }


def _side(comparison: Mapping[str, str], side: str, query_ids: Sequence[str], metric: str) -> Side:
    def own(name: str) -> str:
        return comparison[f"{side}_{name}"]

    wanted = pl.col("query_id").is_in(query_ids)
    ranked = RANKING.read(own("ranking")).filter(wanted).sort("query_id", "rank")
    pieces = CHUNKS.read(own("chunks")).join(
        VIEWS.read(own("view"), columns=["chunk_id", "prefix", "donor_doc_id"]), on="chunk_id", how="left"
    )
    scores = SCORES.read(own("scores"), columns=["query_id", metric, "doc_id"]).filter(wanted)
    tiling: dict[str, list[Span]] = {}
    for doc_id, start, end in (
        pieces.filter(pl.col("doc_id").is_in(scores["doc_id"].to_list())).select("doc_id", "start", "end").iter_rows()
    ):
        tiling.setdefault(doc_id, []).append((start, end))
    used = pieces.filter(pl.col("chunk_id").is_in(ranked["chunk_id"].to_list()))
    ranking: dict[str, list[Mapping[str, Any]]] = {}
    for row in ranked.iter_rows(named=True):
        ranking.setdefault(row["query_id"], []).append(row)
    return Side(
        condition=comparison[side],
        scores=dict(scores.select("query_id", metric).iter_rows()),
        ranking=ranking,
        chunks={row["chunk_id"]: row for row in used.iter_rows(named=True)},
        tiling=tiling,
        view=own("view"),
    )


def _shown(side: Side, gold: Gold, reading: Reading) -> dict[str, Any]:
    """Return the first ranks of one side, and how its score comes about."""
    ranked = side.ranking[gold.query_id]
    gains = [_gain(side.chunks[row["chunk_id"]], gold.doc_id, gold.spans) for row in ranked]
    first = next((rank for rank, value in enumerate(gains, start=1) if value > 0), None)
    ranks = []
    for row, value in list(zip(ranked, gains, strict=True))[: reading.limits.ranks]:
        chunk = side.chunks[row["chunk_id"]]
        span, same = (chunk["start"], chunk["end"]), chunk["doc_id"] == gold.doc_id
        ranks.append(
            {
                "chunk": _keep(side.view, chunk, reading),
                "score": row["score"],
                "gain": value,
                "marks": marks(span, gold.spans, reading.limits.characters) if same else [],
                "routed": row["routed"],
            }
        )
    score = side.scores[gold.query_id]
    return {"score": score, "ranks": ranks, "first": first, "n": len(ranked), **_sum(side, gold, gains, reading.metric)}


def _gain(chunk: Mapping[str, Any], doc_id: str, spans: Sequence[Span]) -> float:
    return gain((chunk["start"], chunk["end"]), spans) if chunk["doc_id"] == doc_id else 0.0


def _sum(side: Side, gold: Gold, gains: Sequence[float], metric: str) -> dict[str, float]:
    """Return DCG and ideal DCG, where the metric is made of them.

    Raises
    ------
    ExplorerError
        If they do not give the score.
    """
    name, _, cutoff = metric.partition("@")
    if name != "cov_ndcg":
        return {}
    actual, best = sum(discounted(gains, int(cutoff))), ideal(side.tiling[gold.doc_id], gold.spans, int(cutoff))
    score, found = side.scores[gold.query_id], actual / best if best else 0.0
    if abs(found - score) > AGREES:
        raise ExplorerError(
            f"query {gold.query_id}, condition {side.condition}: the gains of its ranking give {metric} {found:.6f}, "
            f"its scores say {score:.6f}: scores and ranking are not of one run"
        )
    return {"dcg": actual, "ideal": best}


def _keep(view: str, chunk: Mapping[str, Any], reading: Reading) -> str:
    """Hold a chunk's text once and return its key."""
    store, limit = reading.store, reading.limits.characters
    for doc_id in (chunk["doc_id"], chunk["donor_doc_id"]):
        if doc_id is not None:
            store.documents.setdefault(doc_id, reading.title(doc_id))
    key = f"{Path(view).stem}/{chunk['chunk_id']}"
    if key not in store.chunks:
        text = reading.texts[chunk["doc_id"]]["text"][chunk["start"] : chunk["end"]]
        store.chunks[key] = {
            "doc": chunk["doc_id"],
            "tokens": chunk["n_tokens"],
            "prefix": chunk["prefix"],
            "donor": chunk["donor_doc_id"],
            "text": text[:limit],
            "cut": len(text) > limit,
        }
    return key


def _evidence(span: Span, gold: Gold, sides: Sequence[Side], reading: Reading) -> dict[str, Any]:
    """Return a gold span's text, and the first rank at which each side has a part of it."""
    first = []
    for side in sides:
        rows = side.ranking[gold.query_id]
        hits = (row["rank"] for row in rows if _gain(side.chunks[row["chunk_id"]], gold.doc_id, [span]) > 0)
        first.append(next(hits, None))
    text = reading.texts[gold.doc_id]["text"][span[0] : span[1]]
    return {"text": text[: reading.limits.characters], "first": first}

"""Score one cell: rank-ordered chunks against gold evidence, one row per query (paper 5.1, appendices B and C)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.scores import SCORES
from docstructure.contracts.views import VIEWS
from docstructure.metrics import Metric, parse
from docstructure.metrics.judged import ChunkSet, Evidence, JudgedRun, Run
from docstructure.metrics.section_recall import section_recall
from docstructure.routing_sections import number_sections


class ScoringError(ValueError):
    """Two inputs of a cell do not belong together; a score made of them would be wrong."""


def build_scores(
    *,
    metrics: Sequence[str],
    queries: str,
    chunks: str,
    view: str,
    ranking: str,
    routing: str,
    expected: str,
    section: str | None,
    scores: str,
) -> None:
    """Score one cell and write ``scores.parquet``, in the order of the queries.

    Parameters
    ----------
    metrics
        Names, as `docstructure.metrics.parse` reads them; one column each.
    queries, chunks, view, ranking, routing
        Paths. Of the view, the prefix token counts are read and nothing else. `routing` has no row for flat retrieval.
    expected
        Path of the query vectors: the queries that must be in the ranking, neither more nor fewer.
    section
        What the cell routes to, as `docstructure.routing_sections.number_sections` takes it; None when flat.
    scores
        Path that is written.

    Raises
    ------
    ScoringError
        If a query is missing, unexpected or has no chunk in its document, a ranked chunk is not in the chunk set, ranks
        have a gap, chunks overlap, evidence lies outside the chunks, or view and chunks hold different chunks. The
        message names the file and the first bad id.
    ValueError
        If a metric is unknown or named twice.
    """
    parsed = _parse_all(metrics)
    asked = _asked(QUERIES.read(queries), QUERY_VECTORS.read(expected, columns=["query_id"]), queries, expected)
    pieces = _with_tokens(CHUNKS.read(chunks), VIEWS.read(view, columns=["chunk_id", "n_prefix_tokens"]), chunks, view)
    run = RANKING.read(ranking)
    _check_chunks(asked, pieces, queries, chunks)
    _check_ranking(asked, pieces, run, ranking, chunks)
    judged = judge(asked, pieces, run)
    columns = {str(metric): metric.score(judged) for metric in parsed}
    recall = _section_recall(judged, asked, pieces, ROUTING.read(routing), routing, section)
    table = asked.select("query_id", "doc_id", "type").with_columns(
        recall, **{n: pl.Series(v) for n, v in columns.items()}
    )
    SCORES.write(table, scores)


def judge(queries: pl.DataFrame, chunks: pl.DataFrame, ranking: pl.DataFrame) -> JudgedRun:
    """Return the judged run, with queries, documents and chunks numbered from 0.

    Parameters
    ----------
    queries
        ``query_id``, ``doc_id``, ``spans``; query codes are its row numbers.
    chunks
        ``chunk_id``, ``doc_id``, ``start``, ``end``, ``cost`` (prefix + content tokens), ordered by document, start and
        end; chunk codes are its row numbers.
    ranking
        ``query_id``, ``rank``, ``chunk_id``, in any order: `rank` is the authority.
    """
    documents = chunks.select("doc_id", doc=pl.col("doc_id").rle_id().cast(pl.Int64))
    doc = queries.select("doc_id").join(
        documents.unique(maintain_order=True), on="doc_id", how="left", maintain_order="left"
    )["doc"]
    spans = queries.select("spans").with_row_index("query").explode("spans").unnest("spans")
    coded = ranking.select(
        query=_codes(ranking["query_id"], queries["query_id"]),
        rank="rank",
        chunk=_codes(ranking["chunk_id"], chunks["chunk_id"]),
    )
    coded = coded.sort("query", "rank")
    return JudgedRun(
        Evidence(_integers(doc), _integers(spans["query"]), _integers(spans["start"]), _integers(spans["end"])),
        ChunkSet(
            _integers(documents["doc"]),
            _integers(chunks["start"]),
            _integers(chunks["end"]),
            _integers(chunks["cost"]),
        ),
        Run(_integers(coded["query"]), _integers(coded["chunk"])),
    )


def _codes(ids: pl.Series, known: pl.Series) -> pl.Series:
    """Return the row of each id among `known`; null where it is not there."""
    return ids.cast(pl.Enum(known), strict=False).to_physical().cast(pl.Int64)


def _integers(series: pl.Series) -> NDArray[np.int64]:
    if series.null_count():
        raise ValueError(f"{series.name}: row {int(series.is_null().arg_true()[0])} is unknown")
    return series.cast(pl.Int64).to_numpy()


def _parse_all(names: Sequence[str]) -> list[Metric]:
    repeated = [name for name in names if list(names).count(name) > 1]
    if repeated:
        raise ValueError(f"metric {repeated[0]} is named twice")
    return [parse(name) for name in names]


def _asked(queries: pl.DataFrame, expected: pl.DataFrame, path: str, expected_path: str) -> pl.DataFrame:
    """Return the expected queries, in the order of queries.parquet."""
    _require(
        expected.join(queries, on="query_id", how="anti"),
        "query_id",
        f"{path}: query {{}} of {expected_path} is missing",
    )
    return queries.join(expected, on="query_id", how="semi", maintain_order="left")


def _with_tokens(chunks: pl.DataFrame, view: pl.DataFrame, path: str, view_path: str) -> pl.DataFrame:
    """Return the chunks in order, with what each costs in a context window."""
    _require(view.filter(pl.col("chunk_id").is_duplicated()), "chunk_id", f"{view_path}: chunk {{}} stands twice")
    _require(chunks.join(view, on="chunk_id", how="anti"), "chunk_id", f"{view_path}: chunk {{}} of {path} is missing")
    _require(view.join(chunks, on="chunk_id", how="anti"), "chunk_id", f"{view_path}: chunk {{}} is not in {path}")
    _require(view.filter(pl.col("n_prefix_tokens") < 0), "chunk_id", f"{view_path}: prefix tokens of {{}} are below 0")
    costed = chunks.join(view, on="chunk_id", how="left")
    cost = pl.col("n_tokens").cast(pl.Int64) + pl.col("n_prefix_tokens").cast(pl.Int64)
    return costed.with_columns(cost=cost).sort("doc_id", "start", "end")


def _check_chunks(queries: pl.DataFrame, chunks: pl.DataFrame, path: str, chunks_path: str) -> None:
    after = pl.col("start") < pl.col("end").shift(1).over("doc_id")
    _require(chunks.filter(after), "chunk_id", f"{chunks_path}: chunk {{}} overlaps the one before it in its document")
    limits = chunks.group_by("doc_id").agg(limit=pl.col("end").max())
    bounded = queries.join(limits, on="doc_id", how="left", maintain_order="left")
    _require(
        bounded.filter(pl.col("limit").is_null()), "query_id", f"{chunks_path}: the document of query {{}} has no chunk"
    )
    beyond = pl.col("spans").list.eval(pl.element().struct.field("end")).list.max() > pl.col("limit")
    _require(
        bounded.filter(beyond),
        "query_id",
        f"{path}: evidence of query {{}} ends beyond its document's last chunk in {chunks_path}",
    )


def _check_ranking(
    queries: pl.DataFrame, chunks: pl.DataFrame, ranking: pl.DataFrame, path: str, chunks_path: str
) -> None:
    _require(
        queries.join(ranking.select("query_id"), on="query_id", how="anti", maintain_order="left"),
        "query_id",
        f"{path}: query {{}} is missing; a missing query has no score",
    )
    _require(ranking.join(queries, on="query_id", how="anti"), "query_id", f"{path}: query {{}} is not expected")
    _require(ranking.join(chunks, on="chunk_id", how="anti"), "chunk_id", f"{path}: chunk {{}} is not in {chunks_path}")
    depth = ranking.group_by("query_id", maintain_order=True).agg(deepest=pl.col("rank").max(), n=pl.len())
    _require(depth.filter(pl.col("deepest") != pl.col("n")), "query_id", f"{path}: the ranks of query {{}} have a gap")


def _section_recall(  # noqa: PLR0917 (it checks five artifacts)
    judged: JudgedRun,
    queries: pl.DataFrame,
    chunks: pl.DataFrame,
    routing: pl.DataFrame,
    path: str,
    section: str | None,
) -> pl.Series:
    if section is None:
        if not routing.is_empty():
            raise ScoringError(f"{path}: it holds routed sections, but the cell's retrieval is flat")
        return pl.Series("section_recall", [None] * queries.height, dtype=pl.Float64)
    unrouted = queries.join(routing.select("query_id"), on="query_id", how="anti", maintain_order="left")
    _require(unrouted, "query_id", f"{path}: query {{}} is missing; every query of two-stage retrieval is routed")
    _require(routing.join(queries, on="query_id", how="anti"), "query_id", f"{path}: query {{}} is not expected")
    _require(routing.join(chunks, on="doc_id", how="anti"), "doc_id", f"{path}: document {{}} has no chunk")
    documents = chunks["doc_id"].unique(maintain_order=True)
    recall = section_recall(
        judged,
        _integers(number_sections(chunks, section, path)),
        _integers(_codes(routing["query_id"], queries["query_id"])),
        _integers(_codes(routing["doc_id"], documents)),
        _integers(routing["section"]),
    )
    return pl.Series("section_recall", recall)


def _require(bad: pl.DataFrame, column: str, says: str) -> None:
    """Raise with the first id of `bad`, where it has a row."""
    if bad.height:
        raise ScoringError(f"{says.format(bad[column][0])} ({bad.height} such rows)")

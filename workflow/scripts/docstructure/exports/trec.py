"""TREC files of one cell: its run, binary qrels of its chunk set, and diversity qrels with one subtopic per span."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.exports.files import write_lines
from docstructure.exports.judgements import indexed_queries, subtopic_qrels
from docstructure.exports.judgements import qrels as binary_qrels

TAG = "docstructure"


def export_trec(
    ranking: str, queries: str, chunks: str, *, run: str, qrels: str, subtopics: str, tag: str = TAG
) -> None:
    """Write a cell's run and the judgements of its chunk set.

    Parameters
    ----------
    ranking, queries, chunks
        The cell's ranking, the corpus's queries, and the chunk set that the cell ranks.
    run
        ``query_id Q0 chunk_id rank score tag``: the score is ``top_k + 1 - rank``, since tools order by score and raw
        scores are not monotone after backfill or reranking.
    qrels
        ``query_id 0 chunk_id 1`` for every relevant chunk of the chunk set, ranked or not.
    subtopics
        ``query_id subtopic chunk_id 1``, one subtopic per gold span, for alpha-nDCG.
    tag
        Name of the run.

    Raises
    ------
    ValueError
        If the ranking lacks a query whose document is in the chunk set, ranks a query or chunk that does not exist, or
        the chunks do not tile a document.
    """
    ranked, judged_queries, chunk_set = RANKING.read(ranking), QUERIES.read(queries), CHUNKS.read(chunks)
    judged_queries = indexed_queries(judged_queries, chunk_set)
    check_complete(ranked, judged_queries, chunk_set, ranking)
    judged = subtopic_qrels(judged_queries, chunk_set)
    zero, one = pl.lit(0).alias("iteration"), pl.lit(1).alias("relevance")
    write_lines(run_lines(ranked, tag), run, " ")
    write_lines(binary_qrels(judged).select("query_id", zero, "chunk_id", one), qrels, " ")
    write_lines(judged.select("query_id", "subtopic", "chunk_id", one), subtopics, " ")


def run_lines(ranking: pl.DataFrame, tag: str = TAG) -> pl.DataFrame:
    """Return the lines of a run file, whose scores fall strictly with the rank."""
    top = pl.col("rank").max()
    return ranking.sort("query_id", "rank", maintain_order=True).select(
        "query_id",
        pl.lit("Q0").alias("q0"),
        "chunk_id",
        "rank",
        (top + 1 - pl.col("rank")).alias("score"),
        tag=pl.lit(tag),
    )


def check_complete(ranking: pl.DataFrame, queries: pl.DataFrame, chunks: pl.DataFrame, source: str) -> None:
    """Check that a ranking answers every query, and ranks nothing else than the chunk set.

    Raises
    ------
    ValueError
        If not; the message names the file and the first query or chunk.
    """
    ranked = ranking.select("query_id").unique(maintain_order=True)
    for left, right, says in (
        (queries, ranked, "lacks query {}; a missing query has no score"),
        (ranked, queries, "ranks query {}, which is not in the queries of this chunk set"),
    ):
        lost = left.join(right, on="query_id", how="anti", maintain_order="left")
        if lost.height:
            raise ValueError(f"{source} {says.format(lost['query_id'][0])} ({lost.height} such queries)")
    unknown = ranking.join(chunks, on="chunk_id", how="anti", maintain_order="left")
    if unknown.height:
        raise ValueError(f"{source} ranks chunk {unknown['chunk_id'][0]}, which is not in the chunk set")

"""Which chunks of a chunk set are relevant to which evidence span, as judgements that other tools read.

The rule is the metrics' own (paper, appendix C); here it is only written down for the whole chunk set, ranked or not:
the ideal of our nDCG ranks every relevant chunk of the chunk set, so qrels have to list them all.
"""

from __future__ import annotations

import polars as pl

from docstructure.scoring import judge


def indexed_queries(queries: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the queries whose document is in the chunk set: the ones that every cell has to answer."""
    return queries.join(chunks.select("doc_id").unique(), on="doc_id", how="semi", maintain_order="left")


def subtopic_qrels(queries: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return every chunk that is relevant to a gold span, one subtopic per span.

    Where chunks tile a document, each span of it has a relevant chunk: of two chunks that share it, one holds half of
    it; of three or more, the inner ones lie inside it.

    Parameters
    ----------
    queries
        As in queries.parquet; each query's document has chunks.
    chunks
        As in chunks.parquet.

    Returns
    -------
    polars.DataFrame
        ``query_id``, ``subtopic`` (the span's number in its query, from 1), ``chunk_id``, in the order of queries,
        spans and chunks.

    Raises
    ------
    ValueError
        If a span has no relevant chunk: the chunks do not tile its document.
    """
    chunks = chunks.sort("doc_id", "start", "end").with_columns(cost="n_tokens")
    spans = (
        queries.select("query_id", "doc_id", "spans")
        .with_columns(subtopic=pl.int_ranges(1, pl.col("spans").list.len() + 1))
        .explode("spans", "subtopic")
        .with_row_index("row")
    )
    # The rule looks at one span at a time, so each span is judged as a query of its own; what a run ranks is no
    # matter for it.
    single = spans.select(pl.col("row").cast(pl.String).alias("query_id"), "doc_id", pl.concat_list("spans"))
    run = single.select("query_id", rank=pl.lit(1), chunk_id=pl.lit(chunks["chunk_id"].first()))
    pairs = judge(single, chunks, run).pairs
    rows = pairs.query[pairs.relevant]
    bare = spans.filter(~pl.col("row").is_in(rows.tolist()))
    if bare.height:
        raise ValueError(
            f"no chunk is relevant to span {bare['subtopic'][0]} of query {bare['query_id'][0]}: "
            f"the chunks do not tile document {bare['doc_id'][0]}"
        )
    return spans.select("query_id", "subtopic")[rows].with_columns(chunks["chunk_id"][pairs.chunk[pairs.relevant]])


def qrels(subtopics: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks that are relevant to any span of a query: ``query_id``, ``chunk_id``."""
    return subtopics.select("query_id", "chunk_id").unique(maintain_order=True)

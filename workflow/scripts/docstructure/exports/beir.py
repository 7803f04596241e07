"""A BEIR folder of one view: what is embedded as the corpus, the queries, and the qrels of its chunk set."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.views import VIEWS
from docstructure.exports.files import write_lines, write_with
from docstructure.exports.judgements import indexed_queries, qrels, subtopic_qrels


def export_beir(documents: str, chunks: str, view: str, queries: str, folder: str) -> None:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``.

    The text of an entry is prefix + content, exactly what this view embeds; its title is empty, because BEIR's tools
    put titles before texts. Queries are those whose document is in the chunk set.

    Raises
    ------
    ValueError
        If the view is of another chunk set, or a chunk's document is missing.
    """
    chunk_set = CHUNKS.read(chunks)
    judged_queries = indexed_queries(QUERIES.read(queries), chunk_set)
    corpus = corpus_lines(DOCUMENTS.read(documents), chunk_set, VIEWS.read(view), view)
    asked = judged_queries.select(
        _id="query_id", text="query", metadata=pl.struct(doc_id=pl.col("doc_id"), type=pl.col("type"))
    )
    judged = qrels(subtopic_qrels(judged_queries, chunk_set))
    target = Path(folder)
    write_with(target / "corpus.jsonl", corpus.write_ndjson)
    write_with(target / "queries.jsonl", asked.write_ndjson)
    lines = judged.select(pl.col("query_id").alias("query-id"), pl.col("chunk_id").alias("corpus-id"), score=pl.lit(1))
    write_lines(lines, target / "qrels" / "test.tsv", "\t", header=True)


def corpus_lines(documents: pl.DataFrame, chunks: pl.DataFrame, view: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the entries of ``corpus.jsonl``, in the order of the chunk set.

    Raises
    ------
    ValueError
        If chunks and view do not hold the same chunks, or a chunk lies outside the documents.
    """
    prefixes = dict(view.select("chunk_id", "prefix").iter_rows())
    if view.height != chunks.height or not set(prefixes) == set(chunks["chunk_id"]):
        raise ValueError(f"{source} is a view of another chunk set: {view.height} rows for {chunks.height} chunks")
    texts = dict(documents.select("doc_id", "text").iter_rows())
    rows = []
    for chunk_id, doc_id, start, end in chunks.select("chunk_id", "doc_id", "start", "end").iter_rows():
        if doc_id not in texts or end > len(texts[doc_id]):
            raise ValueError(f"chunk {chunk_id} lies outside the documents")
        rows.append(
            {
                "_id": chunk_id,
                "title": "",
                "text": prefixes[chunk_id] + texts[doc_id][start:end],
                "metadata": {"doc_id": doc_id, "start": start, "end": end},
            }
        )
    return pl.DataFrame(rows)

"""The queries of a corpus: the builder's own, verified once more against the documents that they point into."""

from __future__ import annotations

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.corpora.corpus import CorpusError


def select_queries(documents: str, queries: str, output: str) -> None:
    """Write the builder's queries as the queries of the corpus.

    Raises
    ------
    CorpusError
        If a query's document does not exist or a span lies outside its text; the message names the query.
    """
    texts = DOCUMENTS.read(documents, ["doc_id", "text"])
    frame = QUERIES.read(queries)
    lengths = texts.select("doc_id", length=pl.col("text").str.len_chars().cast(pl.Int64))
    ends = frame.join(lengths, on="doc_id", how="left", maintain_order="left").with_columns(
        last=pl.col("spans").list.last().struct.field("end")
    )
    bad = ends.filter(pl.col("length").is_null() | (pl.col("last") > pl.col("length")))
    if bad.height:
        row = bad.row(0, named=True)
        raise CorpusError(
            f"{queries}: query {row['query_id']} points to character {row['last']} of document {row['doc_id']}, "
            f"which has {row['length']} ({bad.height} such queries)"
        )
    QUERIES.write(frame, output)

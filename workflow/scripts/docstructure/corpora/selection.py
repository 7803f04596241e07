"""The queries of a corpus: the builder's own, or those of a file, verified against the documents they point into."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.queries import QUERIES
from docstructure.corpora.corpus import CorpusError, Document, Section, queries_frame

SHOWN = 20


def select_queries(*, definition: Mapping[str, Any], documents: str, headings: str, queries: str, output: str) -> None:
    """Write the queries of a corpus.

    Parameters
    ----------
    definition
        ``{native: {}}``, the builder's own, or ``{file: {path}}``, a questions file as the markdown builder
        reads it.
    documents, headings, queries
        What the builder wrote.
    output
        Parquet file to write.

    Raises
    ------
    CorpusError
        If a query's document does not exist or a span lies outside its text, or the file has errors; all are listed.
    """
    if "file" in definition:
        options = definition["file"]
        frame = from_file(Path(options["path"]), documents, headings)
    else:
        frame = QUERIES.read(queries)
    _verify(frame, DOCUMENTS.read(documents, ["doc_id", "text"]), queries)
    QUERIES.write(frame, output)


def from_file(path: Path, documents: str, headings: str) -> pl.DataFrame:
    """Return the queries of a questions file on documents that are built already."""
    from docstructure.corpora.markdown import read_questions

    queries, errors = read_questions(path, _documents(documents, headings), "text")
    if errors:
        more = f"\n… and {len(errors) - SHOWN} more" if len(errors) > SHOWN else ""
        raise CorpusError(f"{len(errors)} errors:\n" + "\n".join(errors[:SHOWN]) + more)
    return queries_frame(queries)


def _documents(documents: str, headings: str) -> list[Document]:
    """Return the documents of the artifacts, with their heading trees."""
    sections: dict[str, list[Section]] = {}
    for doc_id, path, start, end in (
        HEADINGS.read(headings).sort("doc_id", "section").select("doc_id", "path", "par_start", "par_end").iter_rows()
    ):
        sections.setdefault(doc_id, []).append(Section(tuple(path), start, end))
    return [
        Document(
            row["doc_id"],
            row["title"],
            row["text"],
            tuple((span["start"], span["end"]) for span in row["paragraphs"]),
            tuple(sections.get(row["doc_id"], ())),
            (None,) * len(row["paragraphs"]),
        )
        for row in DOCUMENTS.read(documents).iter_rows(named=True)
    ]


def _verify(queries: pl.DataFrame, texts: pl.DataFrame, source: str) -> None:
    lengths = texts.select("doc_id", length=pl.col("text").str.len_chars().cast(pl.Int64))
    ends = queries.join(lengths, on="doc_id", how="left", maintain_order="left").with_columns(
        last=pl.col("spans").list.last().struct.field("end")
    )
    bad = ends.filter(pl.col("length").is_null() | (pl.col("last") > pl.col("length")))
    if bad.height:
        row = bad.row(0, named=True)
        raise CorpusError(
            f"{source}: query {row['query_id']} points to character {row['last']} of document {row['doc_id']}, "
            f"which has {row['length']} ({bad.height} such queries)"
        )

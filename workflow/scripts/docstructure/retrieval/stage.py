"""The stage that ranks the chunks of one cell: read what is searched and asked, rank, write ranking and routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.vectors import VECTORS
from docstructure.retrieval import RETRIEVAL
from docstructure.retrieval.index import Index, Queries
from docstructure.search import Floats


class RetrievalError(ValueError):
    """The inputs of a cell do not belong together, or there is nothing to search."""


def build_ranking(
    definition: Mapping[str, Any],
    *,
    queries: str,
    chunks: str,
    vectors: str,
    query_vectors: str,
    top_k: int,
    threads: int,
    ranking: str,
    routing: str,
) -> None:
    """Rank the chunks for every query of `query_vectors`, in the order of that file.

    Parameters
    ----------
    definition
        ``{flat: {scope}}`` or ``{two_stage: {sections, section, scope}}``.
    queries, chunks, vectors, query_vectors
        Paths that are read.
    top_k
        Ranks per query; a query whose scope has fewer chunks gets all of them.
    threads
        CPU threads; the files that are written do not depend on them.
    ranking, routing
        Paths that are written; `routing` has no row for flat retrieval.

    Raises
    ------
    RetrievalError
        If there is no vector, the vectors are not those of the chunks in their order, a query is unknown or its
        document has no chunk, or the vectors differ in width. The message names the file and the first bad id.
    ValueError
        If an option or `top_k` is out of range, or two_stage is asked of windows.
    """
    if top_k < 1:
        raise ValueError(f"top_k: {top_k} is below 1")
    options, rank = RETRIEVAL.resolve(definition)
    index = read_index(chunks, vectors)
    asked = read_queries(queries, query_vectors, index)
    if asked.vectors.shape[1] != index.vectors.shape[1]:
        raise RetrievalError(
            f"{query_vectors}: vectors have {asked.vectors.shape[1]} dimensions, those of {vectors} "
            f"{index.vectors.shape[1]}: they come from different models"
        )
    ranked, routes = rank(options, index, asked, top_k, threads)
    RANKING.write(ranked, ranking)
    ROUTING.write(routes, routing)


def read_index(chunks: str, vectors: str) -> Index:
    """Read the chunks and their vectors, and put both in the order of chunk_id (by code point)."""
    cut, embedded = CHUNKS.read(chunks), VECTORS.read(vectors)
    if not embedded.height:
        raise RetrievalError(f"{vectors}: the index is empty; delete the file and embed the chunks again")
    _check_same(cut["chunk_id"], embedded["chunk_id"], chunks, vectors)
    order = cut["chunk_id"].arg_sort()
    matrix = _matrix(embedded)
    return Index(cut[order], matrix if cut["chunk_id"].is_sorted() else matrix[order.to_numpy()], chunks)


def read_queries(queries: str, query_vectors: str, index: Index) -> Queries:
    """Read the query vectors and the document of each query."""
    embedded = QUERY_VECTORS.read(query_vectors)
    if not embedded.height:
        raise RetrievalError(f"{query_vectors}: there is no query; delete the file and embed the queries again")
    known = QUERIES.read(queries, columns=["query_id", "doc_id"])
    items = embedded.select("query_id").join(known, on="query_id", how="left", maintain_order="left")
    for query_id, _ in items.filter(pl.col("doc_id").is_null()).iter_rows():
        raise RetrievalError(f"{query_vectors}: query {query_id} is not in {queries}")
    for query_id, doc_id in items.join(index.items, on="doc_id", how="anti", maintain_order="left").iter_rows():
        raise RetrievalError(f"{query_vectors}: document {doc_id} of query {query_id} has no chunk in {index.source}")
    return Queries(items, _matrix(embedded))


def _check_same(expected: pl.Series, found: pl.Series, chunks: str, vectors: str) -> None:
    """Raise unless the vectors are those of the chunks, one each, in their order."""
    if expected.equals(found):
        return
    missing, extra = expected.filter(~expected.is_in(found.implode())), found.filter(~found.is_in(expected.implode()))
    if len(missing):
        raise RetrievalError(f"{vectors}: chunk {missing[0]} of {chunks} has no vector ({len(missing)} such chunks)")
    if len(extra):
        raise RetrievalError(f"{vectors}: chunk {extra[0]} is not in {chunks} ({len(extra)} such chunks)")
    row = int((expected != found).arg_true()[0])
    raise RetrievalError(
        f"{vectors}: row {row} is chunk {found[row]} where {chunks} has {expected[row]}: the order is another one"
    )


def _matrix(frame: pl.DataFrame) -> Floats:
    return np.ascontiguousarray(frame["vector"].to_numpy(), np.float32)

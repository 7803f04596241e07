"""Vectors of chunks and queries: each distinct text is embedded once, in whatever view it stands (paper 5, app. J)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.vectors import VECTORS
from docstructure.contracts.views import VIEWS
from docstructure.embedders import EMBEDDERS
from docstructure.embedders.encoder import EncoderError
from docstructure.embedders.progress import Progress
from docstructure.vector_store import FLUSH_SECONDS, VectorStore

if TYPE_CHECKING:
    from docstructure.embedders.sentence_transformer import SentenceTransformerEmbedder as Embedder


@dataclass(frozen=True)
class Report:
    """How a set of texts was embedded.

    Parameters
    ----------
    texts, distinct
        How many texts, and how many different ones.
    stored, embedded
        Different texts whose vector was in the store, and those that were embedded now.
    over_limit
        Indices of the texts of which the model did not see the end, in order.
    seconds
        Time spent embedding.
    """

    texts: int
    distinct: int
    stored: int
    embedded: int
    over_limit: NDArray[np.intp]
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.texts} texts, {self.distinct} different: {self.stored} in the store, "
            f"{self.embedded} embedded in {self.seconds:.1f} s"
        )


def embed(
    texts: Sequence[str],
    embedder: Embedder,
    store: str,
    label: str = "embedding",
    flush_seconds: float = FLUSH_SECONDS,
) -> tuple[NDArray[np.float32], Report]:
    """Embed texts, each different one once and only where the store does not hold it.

    Returns
    -------
    vectors
        Shape (texts, width).
    report
        What was done.
    """
    with VectorStore(store, embedder.identity, embedder.width, flush_seconds) as shelf:
        first: dict[bytes, int] = {}
        row_of = np.fromiter(
            (first.setdefault(key, len(first)) for key in shelf.keys(texts)), dtype=np.intp, count=len(texts)
        )
        keys = list(first)
        found, n_tokens, vectors = shelf.read(keys)
        missing = np.flatnonzero(~found)
        progress = Progress(label, len(missing), "texts")
        if len(missing):
            first_text = np.unique(row_of, return_index=True)[1]
            for batch in embedder.encode([texts[i] for i in first_text[missing]]):
                if not np.isfinite(batch.vectors).all():
                    raise EncoderError(
                        f"{embedder.name} returned a vector that is not finite: is dtype too narrow for it?"
                    )
                rows = missing[batch.texts]
                n_tokens[rows], vectors[rows] = batch.n_tokens, batch.vectors
                shelf.add([keys[row] for row in rows], batch.n_tokens, batch.vectors)
                progress.advance(len(rows), batch.done)
    over = np.flatnonzero(n_tokens[row_of] > embedder.max_length)
    report = Report(len(texts), len(keys), len(keys) - len(missing), len(missing), over, progress.seconds)
    return vectors[row_of], report


def embed_chunks(
    *, definition: Mapping[str, Any], documents: str, chunks: str, view: str, store: str, threads: int, vectors: str
) -> Report:
    """Embed a view: prefix + content of every chunk.

    Parameters
    ----------
    definition
        The embedder, ``{kind: {options}}``.
    documents, chunks, view
        Artifacts to read.
    store
        Folder of the vector store.
    threads
        CPU threads.
    vectors
        Artifact to write.
    """
    embedder = load_embedder(definition, threads)
    frame = view_texts(documents, chunks, view)
    values, report = embed(frame["text"].to_list(), embedder, store, label=f"embedding {view}")
    _say(report, frame["chunk_id"], "chunk", embedder)
    VECTORS.write(frame.select("chunk_id").with_columns(_column(values)), vectors)
    return report


def embed_queries(
    *, definition: Mapping[str, Any], queries: str, eligible: str, store: str, threads: int, query_vectors: str
) -> Report:
    """Embed the queries whose document is eligible, in the order of their file, with the embedder's instruction.

    Parameters
    ----------
    definition
        The embedder, ``{kind: {options}}``.
    queries, eligible
        Artifacts to read.
    store
        Folder of the vector store.
    threads
        CPU threads.
    query_vectors
        Artifact to write.
    """
    embedder = load_embedder(definition, threads)
    kept = ELIGIBLE.read(eligible).filter("eligible").select("doc_id")
    frame = QUERIES.read(queries).join(kept, on="doc_id", how="semi", maintain_order="left")
    texts = [embedder.query_instruction + query for query in frame["query"]]
    values, report = embed(texts, embedder, store, label=f"embedding {queries}")
    _say(report, frame["query_id"], "query", embedder)
    QUERY_VECTORS.write(frame.select("query_id").with_columns(_column(values)), query_vectors)
    return report


def load_embedder(definition: Mapping[str, Any], threads: int) -> Embedder:
    """Return the embedder that a definition describes; its model is loaded when the first text is embedded."""
    options, load = EMBEDDERS.resolve(definition)
    embedder: Embedder = load(options, threads)
    return embedder


def view_texts(documents: str, chunks: str, view: str) -> pl.DataFrame:
    """Return the text of every chunk of a view as a model reads it: columns chunk_id and text, in the chunks' order.

    Raises
    ------
    ContractError
        If the artifacts do not belong together: a chunk of an unknown document or past its end, or a view of other
        chunks.
    """
    pieces = CHUNKS.read(chunks, columns=["chunk_id", "doc_id", "start", "end"])
    prefixes = VIEWS.read(view, columns=["chunk_id", "prefix"])
    if set(pieces["chunk_id"]) != set(prefixes["chunk_id"]) or pieces.height != prefixes.height:
        raise ContractError(f"{view} (views): its chunks are not those of {chunks}: make the view again")
    text_of = dict(DOCUMENTS.read(documents, columns=["doc_id", "text"]).iter_rows())
    texts = []
    rows = pieces.join(prefixes, on="chunk_id", how="left", maintain_order="left")
    for chunk_id, doc_id, start, end, prefix in rows.select("chunk_id", "doc_id", "start", "end", "prefix").iter_rows():
        text = text_of.get(doc_id)
        if text is None or end > len(text):
            reason = "has no document" if text is None else f"ends after its document's {len(text)} characters"
            raise ContractError(f"{chunks} (chunks): chunk {chunk_id} {reason} in {documents}")
        texts.append(prefix + text[start:end])
    return pieces.select("chunk_id").with_columns(pl.Series("text", texts, dtype=pl.String))


def _column(vectors: NDArray[np.float32]) -> pl.Series:
    return pl.Series("vector", vectors, dtype=pl.Array(pl.Float32, vectors.shape[1]))


def _say(report: Report, ids: pl.Series, noun: str, embedder: Embedder) -> None:
    print(f"{embedder.name}: {report}", file=sys.stderr, flush=True)
    if over := report.over_limit.tolist():
        named = ", ".join(ids[i] for i in over[:3]) + (" …" if len(over) > 3 else "")
        print(
            f"warning: {len(over)} of {report.texts} texts are longer than max_length {embedder.max_length} and the "
            f"model did not see their ends: {noun} {named}",
            file=sys.stderr,
            flush=True,
        )

"""A chunk: a contiguous span of one document; a document's chunks tile it exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from docstructure.contracts.chunks import CHUNK_ID, CHUNKS
from docstructure.spans import check_tiling


class ChunkingError(ValueError):
    """A document cannot be cut as asked; the message names the document and the reason."""


@dataclass(frozen=True)
class Chunk:
    """One chunk of a document.

    Parameters
    ----------
    start, end
        Characters of the document's text, half-open.
    n_tokens
        Tokens of exactly that slice, no special tokens.
    path
        Section titles from the top that are true of all its text; None for windows.
    top_section
        The routing section: index (`section` in sections.parquet) of the first section of its top-level section;
        None for windows.
    """

    start: int
    end: int
    n_tokens: int
    path: tuple[str, ...] | None = None
    top_section: int | None = None


def to_frame(chunks: Mapping[str, Sequence[Chunk]], lengths: Mapping[str, int]) -> pl.DataFrame:
    """Put the chunks of many documents into one frame, in the order of `chunks` and of the text.

    Parameters
    ----------
    chunks
        Chunks of each document.
    lengths
        Length of each document's text, in characters.

    Raises
    ------
    ChunkingError
        If the chunks of a document do not tile its text.
    """
    for doc_id, pieces in chunks.items():
        problems = check_tiling([(chunk.start, chunk.end) for chunk in pieces], lengths[doc_id])
        if problems:
            raise ChunkingError(f"document {doc_id}: its chunks do not tile it: {problems[0]}")
    rows = [(doc_id, chunk) for doc_id, pieces in chunks.items() for chunk in pieces]
    frame = CHUNKS.frame(
        {
            "chunk_id": [""] * len(rows),
            "doc_id": [doc_id for doc_id, _ in rows],
            "start": [chunk.start for _, chunk in rows],
            "end": [chunk.end for _, chunk in rows],
            "n_tokens": [chunk.n_tokens for _, chunk in rows],
            "path": [None if chunk.path is None else list(chunk.path) for _, chunk in rows],
            "top_section": [chunk.top_section for _, chunk in rows],
        }
    )
    return frame.with_columns(CHUNK_ID.alias("chunk_id"))

"""The two stages that cut documents: along sections, and into windows matched to those chunks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from docstructure.chunking import sections as structural
from docstructure.chunking import windows as fixed
from docstructure.chunking.chunk import Chunk, ChunkingError, to_frame
from docstructure.chunking.ruler import Ruler, measure
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.sections import SECTIONS
from docstructure.tokens import load_tokenizer

LOG = logging.getLogger(__name__)


def build_section_chunks(
    *,
    documents: str,
    sections: str,
    eligible: str,
    tokenizer: Mapping[str, Any],
    language: str,
    t_max: int,
    t_min: int,
    chunks: str,
) -> None:
    """Write the structural chunks of every eligible document.

    Parameters
    ----------
    documents, sections, eligible
        Paths of the inputs.
    tokenizer
        The study's tokenizer, as `docstructure.models.locate` takes it.
    language
        Two-letter code for the sentence rules.
    t_max, t_min
        Bounds, in content tokens.
    chunks
        Path of the output.

    Raises
    ------
    ChunkingError
        If an eligible document has no sections, or sections that do not tile it.
    """
    limits = structural.Limits(t_max, t_min)
    outlines = {
        doc_id: structural.segments(levels, paths, list(zip(starts, ends, strict=True)))
        for doc_id, levels, paths, starts, ends in SECTIONS.read(sections)
        .sort("doc_id", "section")
        .group_by("doc_id", maintain_order=True)
        .agg("level", "path", "start", "end")
        .iter_rows()
    }
    cut: dict[str, list[Chunk]] = {}
    lengths: dict[str, int] = {}
    for doc_id, ruler in _measured(documents, eligible, tokenizer, language):
        if doc_id not in outlines:
            raise ChunkingError(f"{sections}: document {doc_id} is eligible in {eligible} but has no section here")
        try:
            cut[doc_id] = structural.cut(ruler, outlines[doc_id], limits)
        except ChunkingError as error:
            raise ChunkingError(f"{sections}: document {doc_id}: {error}") from error
        lengths[doc_id] = len(ruler.text)
    frame = to_frame(cut, lengths)
    small = frame.filter(pl.col("n_tokens") < t_min).height
    LOG.info("%d documents, %d chunks, mean %.1f tokens, %d below t_min", *_summary(frame), small)
    CHUNKS.write(frame, chunks)


def build_window_chunks(
    *,
    documents: str,
    matched: str,
    eligible: str,
    tokenizer: Mapping[str, Any],
    language: str,
    snap_tokens: int,
    snap_fallback: str,
    chunks: str,
) -> None:
    """Write fixed windows of every eligible document, as many and as long as its matched chunks.

    Parameters
    ----------
    documents, matched, eligible
        Paths of the inputs; `matched` is a set of structural chunks.
    tokenizer
        The study's tokenizer, as `docstructure.models.locate` takes it.
    language
        Two-letter code for the sentence rules.
    snap_tokens, snap_fallback
        See `docstructure.chunking.windows.Snapping`.
    chunks
        Path of the output.

    Raises
    ------
    ChunkingError
        If an eligible document has no matched chunk.
    """
    snapping = fixed.Snapping(snap_tokens, snap_fallback)
    sizes = _sizes(CHUNKS.read(matched))
    cut: dict[str, list[Chunk]] = {}
    lengths: dict[str, int] = {}
    for doc_id, ruler in _measured(documents, eligible, tokenizer, language):
        if doc_id not in sizes:
            raise ChunkingError(f"{matched}: document {doc_id} is eligible in {eligible} but has no chunk here")
        cut[doc_id] = fixed.cut(ruler, sizes[doc_id], snapping)
        lengths[doc_id] = len(ruler.text)
    frame = to_frame(cut, lengths)
    LOG.info("%d documents, %d windows, mean %.1f tokens", *_summary(frame))
    CHUNKS.write(frame, chunks)


def measure_edges(
    *,
    documents: str,
    matched: str,
    eligible: str,
    tokenizer: Mapping[str, Any],
    language: str,
    snap_tokens: int,
    snap_fallback: str,
) -> pl.DataFrame:
    """Return per document how many inner window edges there are and how many have a sentence start in reach.

    For the report of the share of edges that the fallback had to place (design §5).

    Returns
    -------
    pl.DataFrame
        ``doc_id``, ``n_edges``, ``n_in_reach``.
    """
    snapping = fixed.Snapping(snap_tokens, snap_fallback)
    sizes = _sizes(CHUNKS.read(matched))
    rows = []
    for doc_id, ruler in _measured(documents, eligible, tokenizer, language):
        in_reach = fixed.edges(ruler, sizes[doc_id], snapping).in_reach
        rows.append((doc_id, len(in_reach), sum(in_reach)))
    schema = {"doc_id": pl.String, "n_edges": pl.Int64, "n_in_reach": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sizes(matched: pl.DataFrame) -> dict[str, list[int]]:
    grouped = matched.sort("doc_id", "start").group_by("doc_id", maintain_order=True).agg("n_tokens")
    return dict(grouped.iter_rows())


def _measured(
    documents: str, eligible: str, tokenizer: Mapping[str, Any], language: str
) -> Iterator[tuple[str, Ruler]]:
    """Measure the eligible documents, in the order of their artifact."""
    frame = DOCUMENTS.read(documents)
    wanted = ELIGIBLE.read(eligible).filter("eligible")["doc_id"]
    missing = wanted.filter(~wanted.is_in(frame["doc_id"].implode()))
    if len(missing):
        raise ChunkingError(f"{documents}: document {missing[0]} is eligible in {eligible} but not here")
    frame = frame.filter(pl.col("doc_id").is_in(wanted.implode()))
    paragraphs = [[(span["start"], span["end"]) for span in table] for table in frame["paragraphs"]]
    texts = frame["text"].to_list()
    yield from zip(frame["doc_id"], measure(texts, paragraphs, load_tokenizer(tokenizer), language), strict=True)


def _summary(frame: pl.DataFrame) -> tuple[int, int, float]:
    mean = frame["n_tokens"].mean() if frame.height else 0.0
    return frame["doc_id"].n_unique(), frame.height, float(mean)  # type: ignore[arg-type]

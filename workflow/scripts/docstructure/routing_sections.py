"""Which section each chunk routes with: what stage 1 ranks, and what section recall is counted in (paper 3.2)."""

from __future__ import annotations

import polars as pl

SECTIONS = ("top_level", "section")


def number_sections(chunks: pl.DataFrame, section: str, source: str) -> pl.Series:
    """Return the section that each chunk routes with, numbered inside its document.

    Parameters
    ----------
    chunks
        ``chunk_id``, ``doc_id``, ``start``, ``path``, ``top_section``, in any order.
    section
        ``top_level``: the chunk's ``top_section``. ``section``: its path; the distinct paths of a document are numbered
        from 0 in the order in which they begin.
    source
        File that the chunks come from, for messages.

    Raises
    ------
    ValueError
        If a chunk has no section, as windows have none.
    """
    column = "top_section" if section == "top_level" else "path"
    without = chunks.filter(pl.col(column).is_null())
    if without.height:
        raise ValueError(
            f"{source}: chunk {without['chunk_id'][0]} has no {column} ({without.height} of {chunks.height} chunks): "
            "windows have no sections to route to; use retrieval of kind flat, or boundaries of kind sections"
        )
    if section == "top_level":
        return chunks["top_section"].rename("section")
    first = pl.col("start").min().over("doc_id", "path")
    return chunks.select(section=(first.rank("dense").over("doc_id") - 1).cast(pl.Int32))["section"]

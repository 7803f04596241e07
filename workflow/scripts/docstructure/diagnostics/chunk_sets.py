"""Tables about chunk sets and views: sizes, identity with gold, truncation, derangement (paper 3.2, 3.3, E.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from docstructure.chunking.stage import measure_edges
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.placebo_residuals import PLACEBO_RESIDUALS
from docstructure.contracts.size_match import SIZE_MATCH
from docstructure.contracts.span_identity import SPAN_IDENTITY
from docstructure.contracts.truncation import TRUNCATION
from docstructure.contracts.views import VIEWS
from docstructure.prefixes.verification import residuals

Definition = Mapping[str, Any]


def build_chunk_tables(
    *,
    documents: str,
    eligible: str,
    chunk_sets: Mapping[str, Definition],
    chunk_files: Sequence[str],
    views: Mapping[str, Definition],
    view_files: Sequence[str],
    gold: str | None,
    tokenizer: Mapping[str, Any],
    language: str,
    snap_tokens: int,
    snap_fallback: str,
    separator: str,
    max_tokens: int,
    size_match: str,
    span_identity: str,
    truncation: str,
    placebo_residuals: str,
) -> None:
    """Write the tables of all chunk sets and views of one corpus.

    Parameters
    ----------
    documents, eligible
        Artifacts of the corpus (paths).
    chunk_sets, chunk_files
        Boundaries in use with their definitions, and their chunks.
    views, view_files
        Views in use with the definitions of their prefixes, and their files.
    gold
        The boundaries that others are compared with; None where the corpus has none.
    tokenizer, language, snap_tokens, snap_fallback
        As the windows were cut with.
    separator, max_tokens
        As the prefixes were rendered with.
    size_match, span_identity, truncation, placebo_residuals
        Files to write.

    Raises
    ------
    ContractError
        If an artifact is not as promised.
    ValueError
        If `gold` is not among the chunk sets, or a view and its chunks hold different chunks.
    """
    if gold is not None and gold not in chunk_sets:
        raise ValueError(f"gold boundaries {gold} are not in use; those in use are {', '.join(chunk_sets)}")
    files = dict(zip(chunk_sets, chunk_files, strict=True))
    chunks = {name: CHUNKS.read(file) for name, file in files.items()}
    rows = []
    for name, definition in chunk_sets.items():
        matched = definition.get("windows", {}).get("match")
        edges = None
        if matched is not None:
            edges = measure_edges(
                documents=documents,
                matched=files[matched],
                eligible=eligible,
                tokenizer=tokenizer,
                language=language,
                snap_tokens=snap_tokens,
                snap_fallback=snap_fallback,
            )
        rows.append(size_row(name, chunks, matched, edges))
    SIZE_MATCH.write(SIZE_MATCH.frame(rows), size_match)
    identical = [identity_row(name, chunks, gold) for name in chunks if gold is not None and name != gold]
    SPAN_IDENTITY.write(SPAN_IDENTITY.frame(identical), span_identity)
    titles = DOCUMENTS.read(documents, columns=["doc_id", "title"])
    cut, dealt = [], []
    for (name, definition), file in zip(views.items(), view_files, strict=True):
        view, own = VIEWS.read(file), chunks[name.split(".")[0]]
        cut.append(truncation_row(name, view, own, max_tokens))
        if "placebo" in definition:
            options = definition["placebo"]
            buckets = residuals(view, own, titles, options["depth"], separator)
            dealt += [{"view": name, "seed": options["seed"], **bucket} for bucket in buckets.iter_rows(named=True)]
    TRUNCATION.write(TRUNCATION.frame(cut), truncation)
    PLACEBO_RESIDUALS.write(PLACEBO_RESIDUALS.frame(dealt), placebo_residuals)


def size_row(
    name: str, chunks: Mapping[str, pl.DataFrame], matched: str | None, edges: pl.DataFrame | None
) -> dict[str, Any]:
    """Return the sizes of one chunk set in content tokens, and its differences from the set it is matched to.

    Parameters
    ----------
    name
        The chunk set.
    chunks
        Chunks of all chunk sets.
    matched
        Chunk set that its windows are matched to; None for sections.
    edges
        Per document ``n_edges`` and ``n_in_reach`` of the windows; None for sections.
    """
    tokens = chunks[name]["n_tokens"].cast(pl.Float64)
    row: dict[str, Any] = dict.fromkeys(SIZE_MATCH.names) | {
        "boundaries": name,
        "matched": matched,
        "n_documents": chunks[name]["doc_id"].n_unique(),
        "n_chunks": chunks[name].height,
        "mean_tokens": tokens.mean(),
        "sd_tokens": tokens.std(),
        "min_tokens": int(tokens.min() or 0),  # type: ignore[arg-type]
        "max_tokens": int(tokens.max() or 0),  # type: ignore[arg-type]
    }
    if matched is not None and edges is not None:
        counts = [chunks[which].group_by("doc_id").len() for which in (name, matched)]
        both = counts[0].join(counts[1], on="doc_id", how="full", coalesce=True)
        n_edges = int(edges["n_edges"].sum())
        lost = n_edges - int(edges["n_in_reach"].sum())
        row |= {
            "mean_difference": row["mean_tokens"] - chunks[matched]["n_tokens"].mean(),
            "unequal_documents": both.filter(pl.col("len").ne_missing(pl.col("len_right"))).height,
            "n_edges": n_edges,
            "n_out_of_reach": lost,
            "out_of_reach_share": lost / n_edges if n_edges else None,
        }
    return row


def identity_row(name: str, chunks: Mapping[str, pl.DataFrame], reference: str) -> dict[str, Any]:
    """Return how many chunks have exactly the span of a reference chunk, in the documents that both sets cut."""
    own = chunks[name].join(chunks[reference], on="doc_id", how="semi")
    identical = own.join(chunks[reference], on=["doc_id", "start", "end"], how="semi").height
    return {
        "boundaries": name,
        "reference": reference,
        "n_documents": own["doc_id"].n_unique(),
        "n_chunks": own.height,
        "n_identical": identical,
        "share": identical / own.height if own.height else 0.0,
    }


def truncation_row(name: str, view: pl.DataFrame, chunks: pl.DataFrame, limit: int) -> dict[str, Any]:
    """Return how many prefixes of a view were cut, and how many contents and whole texts are above the limit.

    Raises
    ------
    ValueError
        If the view does not hold exactly the chunks.
    """
    joined = view.join(chunks.select("chunk_id", "n_tokens"), on="chunk_id", how="inner")
    if not joined.height == view.height == chunks.height:
        raise ValueError(
            f"view {name} holds {view.height} chunks, its chunk set {chunks.height}; they are not the same"
        )
    whole = joined["n_prefix_tokens"] + joined["n_tokens"]
    return {
        "view": name,
        "n_chunks": joined.height,
        "n_prefixed": int((joined["n_prefix_tokens"] > 0).sum()),
        "n_truncated": int(joined["prefix_truncated"].sum()),
        "n_content_over": int((joined["n_tokens"] > limit).sum()),
        "n_over": int((whole > limit).sum()),
        "mean_prefix_tokens": float(joined["n_prefix_tokens"].mean() or 0),  # type: ignore[arg-type]
        "max_prefix_tokens": int(joined["n_prefix_tokens"].max() or 0),  # type: ignore[arg-type]
        "max_tokens": int(whole.max() or 0),  # type: ignore[arg-type]
        "limit": limit,
    }

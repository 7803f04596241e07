"""The stage that writes the situating context of every chunk, and the jobs that ask a model for them beforehand."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contextualizers import CONTEXTUALIZERS
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS, STATUSES, USABLE
from docstructure.contracts.documents import DOCUMENTS
from docstructure.tokens import load_tokenizer

LOG = logging.getLogger(__name__)
SHOWN = 5


class ContextError(ValueError):
    """Too many documents have a chunk without a context; the message says where to look."""


def build_contexts(
    *,
    definition: Mapping[str, Any],
    documents: str,
    chunks: str,
    tokenizer: Mapping[str, Any],
    language: str,
    contexts: str,
    max_unusable_share: float = 0.05,
    models: Mapping[str, Any] | None = None,
    cache: str = "",
    offline: bool = False,
) -> None:
    """Write one context per chunk.

    Parameters
    ----------
    definition
        The contextualizer, ``{kind: {options}}``.
    documents, chunks
        Paths of the inputs.
    tokenizer
        The study's tokenizer, as `docstructure.models.locate` takes it.
    language
        Two-letter code for the sentence rules.
    contexts
        Path of the output. Above `max_unusable_share` it is written once more beside it with the suffix
        ``.failed.parquet``, since Snakemake deletes the outputs of a failed job.
    max_unusable_share
        Largest share of documents, 0..1, that may have a chunk without a context where a model was asked.
        `docstructure.contextualizers.withholding` makes those ineligible.
    models, cache, offline
        For a kind that asks a language model: ``definitions.models``, the folder of its cache, and whether answers
        come from the cache alone.

    Raises
    ------
    ContextError
        If too many documents have a chunk without a context.
    """
    found, rows = _contextualize(
        definition, DOCUMENTS.read(documents), CHUNKS.read(chunks), tokenizer, language, models, cache, offline=offline
    )
    failed = Path(contexts).with_suffix(".failed.parquet")
    CONTEXTS.write(found, contexts)
    failed.unlink(missing_ok=True)
    bad = without(found, rows)
    n_documents = rows["doc_id"].n_unique()
    LOG.info("%d contexts: %s; %d of %d documents lack one", found.height, tally(found), len(bad), n_documents)
    if asks_model(definition) and len(bad) > max_unusable_share * n_documents:
        CONTEXTS.write(found, failed)
        shown = "\n".join(f"  {doc_id}: {reason}" for doc_id, reason in list(bad.items())[:SHOWN])
        raise ContextError(
            f"{contexts}: {len(bad)} of {n_documents} documents have a chunk without a context (max_unusable_share "
            f"allows {max_unusable_share:.1%}); {tally(found)}. Look at columns status and reason of {failed} "
            f"(a copy of {contexts}, which Snakemake deletes):\n{shown}"
        )


def complete_context_shard(
    *,
    definition: Mapping[str, Any],
    documents: str,
    chunks: str,
    tokenizer: Mapping[str, Any],
    language: str,
    models: Mapping[str, Any],
    cache: str,
    shard: int,
    shards: int,
    completed: str,
    offline: bool = False,
) -> None:
    """Ask a model for the contexts of the documents whose index among the chunks' modulo `shards` is `shard`.

    Parameters
    ----------
    definition, documents, chunks, tokenizer, language, models, cache, offline
        As `build_contexts` takes them. The cache is the real output.
    shard, shards
        Which of how many.
    completed
        Parquet file to write: the shard's contexts. Whether too many failed is decided over all shards.

    Raises
    ------
    ValueError
        If the kind asks no model, or there is no such shard.
    """
    if not asks_model(definition):
        raise ValueError(f"contextualizer {CONTEXTUALIZERS.kind(definition)} asks no language model: it has no shards")
    if not 0 <= shard < shards:
        raise ValueError(f"shard {shard} of {shards}: shards are counted from 0")
    every = CHUNKS.read(chunks)
    own = every["doc_id"].unique(maintain_order=True).gather_every(shards, shard)
    found, _ = _contextualize(
        definition,
        DOCUMENTS.read(documents),
        every.filter(pl.col("doc_id").is_in(own.implode())),
        tokenizer,
        language,
        models,
        cache,
        offline=offline,
    )
    print(f"shard {shard} of {shards}: {found.height} contexts: {tally(found)}", file=sys.stderr)
    CONTEXTS.write(found, completed)


def _contextualize(  # noqa: PLR0917 (what both stages are given)
    definition: Mapping[str, Any],
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    tokenizer: Mapping[str, Any],
    language: str,
    models: Mapping[str, Any] | None,
    cache: str,
    *,
    offline: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    options, contextualize = CONTEXTUALIZERS.resolve(definition)
    llm = {"llm": {"models": models, "cache": cache, "offline": offline}} if asks_model(definition) else {}
    return contextualize(options, documents, chunks, load_tokenizer(tokenizer), language, **llm), chunks


def asks_model(definition: Mapping[str, Any]) -> bool:
    """Return whether a contextualizer is of a kind that asks a language model."""
    options, _ = CONTEXTUALIZERS.resolve(definition)
    return bool(getattr(options, "asks_model", False))


def without(contexts: pl.DataFrame, chunks: pl.DataFrame) -> dict[str, str]:
    """Return the documents that have a chunk without a context, each with how many and the first one's reason."""
    lacking = (
        chunks.select("chunk_id", "doc_id")
        .join(contexts, on="chunk_id", how="left", maintain_order="left")
        .filter(~pl.col("status").is_in(USABLE))
        .group_by("doc_id", maintain_order=True)
        .agg(n=pl.len(), chunk_id=pl.col("chunk_id").first(), reason=pl.col("reason").first())
    )
    return {
        doc_id: f"{n} chunks without a context, the first is {chunk_id}: {reason}"
        for doc_id, n, chunk_id, reason in lacking.iter_rows()
    }


def tally(contexts: pl.DataFrame) -> str:
    """Return how many contexts there are of each status, in one line."""
    counts: dict[str, int] = dict(contexts["status"].value_counts().iter_rows())
    return ", ".join(f"{counts.get(status, 0)} {status}" for status in STATUSES)

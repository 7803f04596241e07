"""The stage that writes a corpus's queries, and the jobs that ask a model for them beforehand."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.queries import QUERIES as QUERIES_CONTRACT
from docstructure.contracts.sections import SECTIONS
from docstructure.querygen import QUERIES
from docstructure.querygen.generated import FAILED, Generated, Step, write
from docstructure.querygen.sampling import Source, top_sections

SHOWN = 5


class QueryError(ValueError):
    """The queries of a corpus cannot be had; the message names the step and says where to look."""


def generate_queries(
    *,
    definition: Mapping[str, Any],
    corpus: str,
    documents: str,
    sections: str,
    language: str,
    max_unusable_share: float,
    models: Mapping[str, Any],
    cache: str,
    queries: str,
    funnel: str,
    offline: bool = False,
) -> None:
    """Write the queries of a corpus, and what each step of their making kept.

    Parameters
    ----------
    definition
        ``{generated: {options}}``.
    corpus
        Its name, for messages.
    documents, sections
        Parquet files to read; sections of the author's structure. A document without sections gets no queries.
    language
        Two-letter code of the corpus.
    max_unusable_share
        Largest share of a step's requests, 0..1, that may fail.
    models, cache, offline
        ``definitions.models``, the folder of the cache, and whether answers come from the cache alone.
    queries
        Parquet file to write.
    funnel
        Folder of the funnel files, one per step. Where too many requests failed, those of the step are written beside
        `queries` too, with the suffix ``.failed.parquet``, since Snakemake deletes the outputs of a failed job.

    Raises
    ------
    QueryError
        If too many requests of a step failed, or no query is left.
    """
    options, generate = QUERIES.resolve(definition)
    sources = read_sources(documents, sections)
    made: Generated = generate(options, sources, language, llm={"models": models, "cache": cache, "offline": offline})
    failed = Path(queries).with_suffix(".failed.parquet")
    failed.unlink(missing_ok=True)
    for step in made.steps:
        FUNNEL.write(step.frame(), Path(funnel) / f"{step.name}.parquet")
        print(f"corpus {corpus}: {describe(step)}", file=sys.stderr)
    for step in made.steps:
        if step.n_failed > max_unusable_share * len(step.came):
            FUNNEL.write(step.frame(), failed)
            raise QueryError(_too_many(corpus, step, max_unusable_share, failed))
    if not made.queries.height:
        FUNNEL.write(_last_words(made.steps), failed)
        raise QueryError(
            f"corpus {corpus}: no query is left of {len(made.steps[0].came)}. Look at column reason of {failed}"
        )
    QUERIES_CONTRACT.write(made.queries, queries)


def complete_query_shard(
    *,
    definition: Mapping[str, Any],
    documents: str,
    sections: str,
    language: str,
    models: Mapping[str, Any],
    cache: str,
    shard: int,
    shards: int,
    completed: str,
    offline: bool = False,
) -> None:
    """Ask a model for the queries on the documents whose index modulo `shards` is `shard`.

    Parameters
    ----------
    definition, documents, sections, language, models, cache, offline
        As `generate_queries` takes them. The cache is the real output.
    shard, shards
        Which of how many.
    completed
        Parquet file to write: what became of the shard's queries before they meet the others', as a funnel.

    Raises
    ------
    ValueError
        If there is no such shard.
    """
    if not 0 <= shard < shards:
        raise ValueError(f"shard {shard} of {shards}: shards are counted from 0")
    options, _ = QUERIES.resolve(definition)
    own = read_sources(documents, sections)[shard::shards]
    steps = write(options, own, language, llm={"models": models, "cache": cache, "offline": offline})
    for step in steps:
        print(f"shard {shard} of {shards}: {describe(step)}", file=sys.stderr)
    FUNNEL.write(_last_words(steps), completed)


def read_sources(documents: str, sections: str) -> list[Source]:
    """Return the documents that have sections, in the order of `documents`."""
    own = SECTIONS.read(sections).partition_by("doc_id", as_dict=True, maintain_order=True)
    sources = []
    rows = DOCUMENTS.read(documents).select("doc_id", "title", "text", "paragraphs")
    for doc_id, title, text, paragraphs in rows.iter_rows():
        if (doc_id,) in own:
            frame = own[(doc_id,)].sort("section")
            bounds = list(frame.select("par_start", "par_end").iter_rows())
            tops = top_sections(frame["path"].to_list(), frame["level"].to_list(), bounds)
            spans = tuple((paragraph["start"], paragraph["end"]) for paragraph in paragraphs)
            sources.append(Source(doc_id, title, text, spans, tuple(tops)))
    return sources


def describe(step: Step) -> str:
    """Return what a step did, in one line: in, out by type, and reasons."""
    types = Counter(written.draft.type for written in step.kept)
    reasons = Counter(reason.partition(":")[0] for reason in step.dropped.values())
    kept = ", ".join(f"{n} {type_}" for type_, n in sorted(types.items()))
    lost = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items()))
    return f"{step.name}: {len(step.came)} -> {len(step.kept)} ({kept or 'none'})" + (
        f"; dropped: {lost}" if lost else ""
    )


def _last_words(steps: Sequence[Step]) -> pl.DataFrame:
    """Return every query with the reason of the step that dropped it."""
    dropped = {query_id: f"{step.name}: {why}" for step in steps for query_id, why in step.dropped.items()}
    return FUNNEL.frame(
        {
            "item_id": steps[0].came,
            "kept": [query_id not in dropped for query_id in steps[0].came],
            "reason": [dropped.get(query_id, "") for query_id in steps[0].came],
        }
    )


def _too_many(corpus: str, step: Step, allowed: float, failed: Path) -> str:
    found = [f"  {query_id}: {why}" for query_id, why in step.dropped.items() if why.startswith(f"{FAILED}:")]
    return (
        f"corpus {corpus}: {step.name}: {step.n_failed} of {len(step.came)} requests failed (max_unusable_share allows "
        f"{allowed:.1%}). Look at column reason of {failed}:\n" + "\n".join(_examples(found))
    )


def _examples(lines: Sequence[str]) -> list[str]:
    return [*lines[:SHOWN], *([f"  … and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])]

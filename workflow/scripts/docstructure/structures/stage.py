"""The structure stage: the sections of every document of a corpus, and how each document came through."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.structures import STATUSES
from docstructure.contracts.structures import STRUCTURES as STRUCTURES_CONTRACT
from docstructure.structures import STRUCTURES
from docstructure.structures.outcome import Flat, Outcome, StructureError

SHOWN = 5


def build_structure(
    *,
    definition: Mapping[str, Any],
    corpus: str,
    structure: str,
    documents: str,
    headings: str,
    max_unusable_share: float,
    structures: str,
    sections: str,
    language: str = "en",
    models: Mapping[str, Any] | None = None,
    cache: str = "",
    offline: bool = False,
) -> None:
    """Build one structure of a corpus.

    Parameters
    ----------
    definition
        ``{kind: {options}}``.
    corpus, structure
        Their names in the config, for messages.
    documents, headings
        Parquet files to read; only a kind that reads headings is shown them.
    max_unusable_share
        Largest share of unusable documents, 0..1, with which the run goes on.
    structures, sections
        Parquet files to write. Above `max_unusable_share` only `structures` is written, and once more beside it with
        the suffix ``.failed.parquet``, since Snakemake deletes the outputs of a failed job; no sections are ever
        written for an unusable document.
    language
        Two-letter code of the corpus.
    models, cache, offline
        For a kind that asks a language model: ``definitions.models``, the folder of its cache, and whether answers
        come from the cache alone.

    Raises
    ------
    StructureError
        If the corpus does not have this structure, or too many documents are unusable.
    """
    options, induce = STRUCTURES.resolve(definition)
    flat = flatten(DOCUMENTS.read(documents))
    llm = {"llm": {"models": models, "cache": cache, "offline": offline}} if asks_model(options) else {}
    shown = HEADINGS.read(headings) if options.reads_headings else None
    try:
        outcomes: list[Outcome] = list(induce(options, flat, shown, language, **llm))
    except StructureError as error:
        raise StructureError(
            f"corpus {corpus}, structure {structure}: {error}; read from {headings}. "
            f"Remove {structure} from definitions.corpora.{corpus}.structures, or mend the source"
        ) from error
    if [outcome.doc_id for outcome in outcomes] != [document.doc_id for document in flat]:
        raise AssertionError(f"structure {structure} does not give one outcome per document, in order")
    frame, failed = structures_frame(outcomes), Path(structures).with_suffix(".failed.parquet")
    STRUCTURES_CONTRACT.write(frame, structures)
    failed.unlink(missing_ok=True)
    counts = Counter(outcome.status for outcome in outcomes)
    tally = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    print(f"corpus {corpus}, structure {structure}: {len(outcomes)} documents: {tally}", file=sys.stderr)
    if counts["unusable"] > max_unusable_share * len(outcomes):
        STRUCTURES_CONTRACT.write(frame, failed)
        raise StructureError(
            f"corpus {corpus}, structure {structure}: {counts['unusable']} of {len(outcomes)} documents are unusable "
            f"(max_unusable_share allows {max_unusable_share:.1%}); {tally}. Look at column reason of {failed} "
            f"(a copy of {structures}, which Snakemake deletes):\n" + _examples(outcomes)
        )
    SECTIONS.write(sections_frame(outcomes), sections)


def asks_model(options: object) -> bool:
    """Return whether a kind's options say that it asks a language model."""
    return bool(getattr(options, "asks_model", False))


def flatten(documents: pl.DataFrame) -> list[Flat]:
    """Return what an inducer sees of documents: no title, no headings."""
    return [
        Flat(doc_id, text, tuple((paragraph["start"], paragraph["end"]) for paragraph in paragraphs))
        for doc_id, text, paragraphs in documents.select("doc_id", "text", "paragraphs").iter_rows()
    ]


def _examples(outcomes: Sequence[Outcome]) -> str:
    unusable = [f"  {outcome.doc_id}: {outcome.reason}" for outcome in outcomes if outcome.status == "unusable"]
    more = [f"  … and {len(unusable) - SHOWN} more"] if len(unusable) > SHOWN else []
    return "\n".join(unusable[:SHOWN] + more)


def structures_frame(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Return outcomes as structures/{structure}.parquet holds them."""
    return STRUCTURES_CONTRACT.frame(
        {
            "doc_id": [outcome.doc_id for outcome in outcomes],
            "status": [outcome.status for outcome in outcomes],
            "reason": [outcome.reason for outcome in outcomes],
            "n_sections": [len(outcome.sections) for outcome in outcomes],
        }
    )


def sections_frame(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Return the sections of usable documents as sections/{structure}.parquet holds them."""
    return SECTIONS.frame(
        [
            {
                "doc_id": outcome.doc_id,
                "section": index,
                "level": section.level,
                "path": list(section.path),
                "par_start": section.par_start,
                "par_end": section.par_end,
                "start": section.start,
                "end": section.end,
            }
            for outcome in outcomes
            for index, section in enumerate(outcome.sections)
        ]
    )

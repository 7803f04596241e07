"""The corpus stage: run a builder, verify what it gives, write it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.contract import Contract
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.queries import QUERIES
from docstructure.corpora import BUILDERS
from docstructure.corpora.corpus import (
    Corpus,
    CorpusError,
    documents_frame,
    funnel_frame,
    headings_frame,
    queries_frame,
    verify,
)

SHOWN = 20

Artifact = tuple[Contract, pl.DataFrame, Path]


def build_corpus(  # noqa: PLR0917 (what every builder needs and gives)
    corpus: str, definition: Mapping[str, Any], documents: str, headings: str, queries: str, funnel: str
) -> None:
    """Build a corpus and write its artifacts; nothing is written unless all of it is sound.

    Parameters
    ----------
    corpus
        Name of the corpus, for messages.
    definition
        ``{builder: {options}}``.
    documents, headings, queries
        Parquet files to write.
    funnel
        Folder of the funnel files, one per filter of the builder.

    Raises
    ------
    CorpusError
        If the source cannot be read, or the verifier finds a violation; the message lists them.
    """
    options, build = BUILDERS.resolve(definition)
    built: Corpus = build(options)
    problems = verify(built)
    if problems:
        more = f"\n… and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise CorpusError(f"corpus {corpus}: {len(problems)} violations:\n" + "\n".join(problems[:SHOWN]) + more)
    try:
        artifacts, funnels = _artifacts(built, documents, headings, queries), _funnels(built, Path(funnel))
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"corpus {corpus}: a text cannot be written as UTF-8, it holds half of a surrogate pair: "
            f"{error.object[max(0, error.start - 40) : error.end]!a}"
        ) from None
    for contract, frame, path in [*artifacts, *funnels]:
        contract.write(frame, path)
    for _, frame, path in funnels:
        kept = int(frame["kept"].sum())
        print(f"corpus {corpus}: {path.stem}: {frame.height} -> {kept}", file=sys.stderr)


def _artifacts(built: Corpus, documents: str, headings: str, queries: str) -> list[Artifact]:
    """Return the tables of a corpus, checked."""
    return [
        _checked(DOCUMENTS, documents_frame(built.documents), Path(documents)),
        _checked(HEADINGS, headings_frame(built.documents), Path(headings)),
        _checked(QUERIES, queries_frame(built.queries), Path(queries)),
    ]


def _funnels(built: Corpus, folder: Path) -> list[Artifact]:
    """Return the funnel's tables, checked."""
    return [
        _checked(FUNNEL, funnel_frame(items), folder / f"{stage}.parquet")
        for stage, items in sorted(built.funnels.items())
    ]


def _checked(contract: Contract, frame: pl.DataFrame, path: Path) -> Artifact:
    return contract, contract.check(frame, path), path

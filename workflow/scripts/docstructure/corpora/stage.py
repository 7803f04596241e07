"""The corpus stage: run a builder, verify what it gives, write it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    DOCUMENTS.write(documents_frame(built.documents), documents)
    HEADINGS.write(headings_frame(built.documents), headings)
    QUERIES.write(queries_frame(built.queries), queries)
    for stage, items in sorted(built.funnels.items()):
        frame = funnel_frame(items)
        FUNNEL.write(frame, Path(funnel) / f"{stage}.parquet")
        kept = int(frame["kept"].sum())
        print(f"corpus {corpus}: {stage}: {frame.height} -> {kept}", file=sys.stderr)

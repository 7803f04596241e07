"""Documents without all their contexts are withheld from every index, so that no condition has them and another not.

Contexts belong to chunks, and chunks are cut from eligible documents. The circle is opened by cutting first: the
documents whose structures are usable give *candidate* chunks; contexts are written for those; a document with a chunk
that has no context is then ineligible, and every chunk set is the candidates of the eligible documents. A document's
chunks do not depend on other documents, so they are the chunks that would have been cut of it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import polars as pl

from docstructure.contextualizers.stage import without
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS
from docstructure.contracts.eligible import ELIGIBLE


class WithholdingError(ValueError):
    """Artifacts do not fit together, or nothing is left; the message names the file."""


def withhold(*, usable: str, chunks: Mapping[str, str], contexts: Mapping[str, str], eligible: str) -> None:
    """Write which of the usable documents are eligible: those whose chunks all have their contexts.

    Parameters
    ----------
    usable
        Parquet file as `docstructure.eligibility.build_eligible` writes it, before contexts.
    chunks, contexts
        Files of candidate chunks and of their contexts, by the same names (``{boundaries}.{contextualizer}``).
    eligible
        Parquet file to write.

    Raises
    ------
    WithholdingError
        If a chunk has no row in its contexts, or no document is left.
    """
    frame = ELIGIBLE.read(usable)
    reasons = dict(frame.select("doc_id", "reason").iter_rows())
    for name, path in contexts.items():
        given, cut = CONTEXTS.read(path), CHUNKS.read(chunks[name])
        absent = cut.join(given, on="chunk_id", how="anti", maintain_order="left")
        if absent.height:
            raise WithholdingError(f"{path}: chunk {absent['chunk_id'][0]} of {chunks[name]} is missing")
        for doc_id, reason in without(given, cut).items():
            reasons[doc_id] = "; ".join(filter(None, (reasons[doc_id], f"contexts {name}: {reason}")))
            print(f"{doc_id} is withheld: contexts {name}: {reason}", file=sys.stderr)
    kept = frame.select(
        "doc_id",
        eligible=pl.Series([not reasons[doc_id] for doc_id in frame["doc_id"]], dtype=pl.Boolean),
        reason=pl.Series([reasons[doc_id] for doc_id in frame["doc_id"]], dtype=pl.String),
    )
    if not kept["eligible"].any():
        raise WithholdingError(f"{eligible}: no document is left; {usable} has {int(frame['eligible'].sum())}")
    ELIGIBLE.write(kept, eligible)


def select_chunks(*, candidates: str, eligible: str, chunks: str) -> None:
    """Write the chunks of the eligible documents among candidates.

    Raises
    ------
    WithholdingError
        If an eligible document has no chunk.
    """
    kept = ELIGIBLE.read(eligible).filter("eligible").select("doc_id")
    frame = CHUNKS.read(candidates)
    bare = kept.join(frame, on="doc_id", how="anti", maintain_order="left")
    if bare.height:
        raise WithholdingError(f"{candidates}: eligible document {bare['doc_id'][0]} has no chunk")
    CHUNKS.write(frame.join(kept, on="doc_id", how="semi", maintain_order="left"), chunks)

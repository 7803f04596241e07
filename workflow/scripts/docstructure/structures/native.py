"""The author's own headings as a structure (paper E.2): the heading tree of the source, verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from docstructure.structures.outcome import Flat, Outcome, StructureError, judge
from docstructure.tree import Placed, place


@dataclass(frozen=True)
class Options:
    """The native structure has no options."""

    reads_headings: ClassVar[bool] = True


def induce(
    options: Options, documents: Sequence[Flat], headings: pl.DataFrame | None, language: str
) -> Iterator[Outcome]:
    """Yield the outcome of each document, in order.

    A heading without own paragraphs makes no section, but stays in the paths of those below it. A document without
    any heading is one section with an empty path.

    Raises
    ------
    StructureError
        If no document of the corpus has a heading, or a heading belongs to no document.
    """
    if headings is None or headings.is_empty():
        raise StructureError(
            "the corpus declares a structure that it does not have: none of its documents has headings"
        )
    trees: dict[str, list[Placed]] = {}
    for doc_id, path, par_start, par_end in headings.select("doc_id", "path", "par_start", "par_end").iter_rows():
        trees.setdefault(doc_id, []).append((tuple(path), par_start, par_end))
    unknown = sorted(set(trees) - {document.doc_id for document in documents})
    if unknown:
        raise StructureError(
            f"headings of {len(unknown)} documents that are not in the corpus: {', '.join(unknown[:5])}"
        )
    for document in documents:
        n_paragraphs = len(document.paragraphs)
        tree = trees.get(document.doc_id, [((), 0, n_paragraphs)])
        yield judge(document, place(tree, document.paragraphs, len(document.text)))

"""Heading paths as text: cutting them to a depth, cleaning their titles, rendering and shortening them (paper A.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import polars as pl

from docstructure.prefixes.prefix import PrefixError
from docstructure.tokens import Tokenizer

_BRACKETS = str.maketrans("[]", "()")

CutPath = tuple[str, ...]
"""Cleaned titles from the document's title down, cut to a depth: at least one, none empty."""


@dataclass(frozen=True)
class Separator:
    """What stands between two elements of a rendered path.

    Parameters
    ----------
    text
        As rendered, white space included.
    """

    text: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r" [^\s\[\]]+ ", self.text):
            raise ValueError(
                f"separator is {self.text!r}; it must be one mark without brackets between two spaces: ' › '"
            )

    @cached_property
    def _inside(self) -> re.Pattern[str]:
        """Match the mark where it stands as a word of its own, also at an edge of a title: there it would part it."""
        return re.compile(rf"(?<!\S){re.escape(self.text.strip())}(?!\S)")

    @cached_property
    def _instead(self) -> str:
        return next(mark for mark in "-/" if mark != self.text.strip())

    def clean(self, title: str) -> str:
        """Return a title that cannot be mistaken for a path: one line, no square brackets, no separator.

        White space runs become one space, square brackets round ones, and a separator a hyphen (a slash where the
        separator is the hyphen). So a rendered path parts again into exactly its titles. Empty where nothing of the
        title is visible.
        """
        text = " ".join(title.split()).translate(_BRACKETS)
        if not any(map(str.isprintable, text.replace(" ", ""))):
            return ""
        return self._inside.sub(self._instead, text)

    def join(self, path: Sequence[str]) -> str:
        """Render a cut path: ``[Title › Section] ``, the space after it included."""
        return f"[{self.text.join(path)}] "


def cut_path(document: str, path: Iterable[str], depth: int, separator: Separator) -> CutPath:
    """Return the first `depth` levels of a heading path, cleaned; the document is level 1.

    Parameters
    ----------
    document
        Title of the document, or its identifier where it has none.
    path
        Section titles from the top, without the document's title. Titles without a visible character are no level.
    depth
        Levels to keep, at least 1.
    separator
        Separator that the path will be rendered with.
    """
    cleaned = (separator.clean(title) for title in path)
    return (document, *[title for title in cleaned if title][: depth - 1])


def cut_paths(documents: pl.DataFrame, chunks: pl.DataFrame, depth: int, separator: Separator) -> list[CutPath]:
    """Return the cut path of each chunk, in order.

    Parameters
    ----------
    documents
        ``doc_id`` and ``title``.
    chunks
        ``chunk_id``, ``doc_id`` and ``path``.
    depth
        Levels to keep, the document included.
    separator
        Separator that the paths will be rendered with.

    Raises
    ------
    PrefixError
        If a chunk has no path (windows have none) or its document is not in `documents`.
    """
    titles = {
        doc_id: separator.clean(title) or separator.clean(doc_id)
        for doc_id, title in documents.select("doc_id", "title").iter_rows()
    }

    @cache
    def cut(doc_id: str, path: tuple[str, ...]) -> CutPath:
        return cut_path(titles[doc_id], path, depth, separator)

    cuts = []
    for chunk_id, doc_id, path in chunks.select("chunk_id", "doc_id", "path").iter_rows():
        if path is None:
            raise PrefixError(f"chunk {chunk_id} has no heading path: path and placebo prefixes need structural chunks")
        if doc_id not in titles:
            raise PrefixError(f"chunk {chunk_id}: its document {doc_id} is not in documents")
        cuts.append(cut(doc_id, tuple(path)))
    return cuts


@dataclass(frozen=True)
class Breadcrumb:
    """A heading path as prefix.

    Parameters
    ----------
    path
        Cut path.
    separator
        Between its elements.
    """

    path: CutPath
    separator: Separator

    @property
    def text(self) -> str:
        """The rendered path."""
        return self.separator.join(self.path)

    def shortened(self, limit: int, tokenizer: Tokenizer) -> str:
        """Return the path without its deepest levels, as many of them as it takes to fit.

        What is left is still a true path: the ancestor's. Where the document's title alone does not fit, the title
        is cut between words (inside its first word if need be). Where not one token of it fits, there is no prefix.
        """
        for depth in range(len(self.path), 0, -1):
            text = self.separator.join(self.path[:depth])
            if tokenizer.count(text) <= limit:
                return text
        title = tokenizer.head(self.path[0], limit - tokenizer.count(self.separator.join([""]))).rstrip()
        while title and tokenizer.count(self.separator.join([title])) > limit:
            title = title[:-1].rstrip()
        return self.separator.join([title]) if title else ""

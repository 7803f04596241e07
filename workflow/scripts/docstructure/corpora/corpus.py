"""A corpus in memory, and the one place where a document's flat text is put together.

Builders read their source into blocks (headings and paragraphs, in reading order); `assemble` joins the paragraphs and
records where each one lies as it goes. Offsets are never recovered by searching a text (paper E.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.queries import QUERIES
from docstructure.spans import Span, merge

SEPARATOR = "\n\n"


class CorpusError(ValueError):
    """The source of a corpus cannot be read as what it should be; the message names file, item and remedy."""


@dataclass(frozen=True)
class Heading:
    """A heading in reading order.

    Parameters
    ----------
    rank
        Its rank in the source (number of ``#`` or ``=``); only the order of ranks matters, nesting is by rank.
    title
        Its text. A heading without text is no heading: what follows stays in the section before.
    """

    rank: int
    title: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph in reading order.

    Parameters
    ----------
    text
        Its text, kept to the character. A paragraph of white space alone is left out.
    origin
        Where it begins in the source file, in characters, when it is a verbatim slice of it: what evidence given in
        offsets of the file is translated by.
    """

    text: str
    origin: int | None = None


Block = Heading | Paragraph


@dataclass(frozen=True)
class Section:
    """A section of the author's heading tree: titles from the top, and its own paragraphs ``[par_start, par_end)``."""

    path: tuple[str, ...]
    par_start: int
    par_end: int


@dataclass(frozen=True)
class Document:
    """One document with its paragraph table and heading tree; offsets are characters of `text`."""

    doc_id: str
    title: str
    text: str
    paragraphs: tuple[Span, ...]
    sections: tuple[Section, ...]
    origins: tuple[int | None, ...]
    path: str = ""
    revision: str = ""
    licence: str = ""
    topic: str | None = None

    @property
    def has_headings(self) -> bool:
        """Whether any section has a title."""
        return any(section.path for section in self.sections)

    def subtree(self, path: Sequence[str]) -> list[Span]:
        """Return the span of each section with this path, its subsections included.

        Sections with the same path side by side in the tree are different sections: one span each.
        """
        wanted, spans = tuple(path), []
        start: int | None = None
        for index, section in enumerate(self.sections):
            inside = section.path[: len(wanted)] == wanted
            begins = section.path == wanted and inside
            if start is not None and (begins or not inside):
                spans.append(self._characters(start, section.par_start))
                start = None
            if inside and start is None:
                start = section.par_start
            if index == len(self.sections) - 1 and start is not None:
                spans.append(self._characters(start, section.par_end))
        return [span for span in spans if span[0] < span[1]]

    def _characters(self, par_start: int, par_end: int) -> Span:
        if par_start == par_end:
            return (0, 0)
        return (self.paragraphs[par_start][0], self.paragraphs[par_end - 1][1])

    def from_origin(self, start: int, end: int) -> list[Span]:
        """Translate a span of the source file into spans of `text`: the parts of it that lie in paragraphs."""
        spans = []
        for (left, right), origin in zip(self.paragraphs, self.origins, strict=True):
            if origin is None:
                continue
            low, high = max(start, origin), min(end, origin + right - left)
            if low < high:
                spans.append((left + low - origin, left + high - origin))
        return spans


def assemble(
    doc_id: str,
    title: str,
    blocks: Iterable[Block],
    *,
    path: str = "",
    revision: str = "",
    licence: str = "",
    topic: str | None = None,
) -> Document:
    """Join blocks into a document.

    Paragraphs are joined by a blank line (`SEPARATOR`). Headings are not in the text; they nest by rank: a heading is
    a child of the nearest heading before it with a smaller rank, however large the jump.
    """
    parts: list[str] = []
    spans: list[Span] = []
    origins: list[int | None] = []
    sections: list[Section] = []
    stack: list[tuple[int, str]] = []
    position = 0
    opened = 0
    for block in blocks:
        if isinstance(block, Heading):
            name = " ".join(block.title.split())
            if not name:
                continue
            if stack or len(spans) > opened:
                sections.append(Section(tuple(text for _, text in stack), opened, len(spans)))
            while stack and stack[-1][0] >= block.rank:
                stack.pop()
            stack.append((block.rank, name))
            opened = len(spans)
        elif block.text.strip():
            if parts:
                parts.append(SEPARATOR)
                position += len(SEPARATOR)
            parts.append(block.text)
            spans.append((position, position + len(block.text)))
            origins.append(block.origin)
            position += len(block.text)
    if stack or len(spans) > opened:
        sections.append(Section(tuple(text for _, text in stack), opened, len(spans)))
    return Document(
        doc_id, title, "".join(parts), tuple(spans), tuple(sections), tuple(origins), path, revision, licence, topic
    )


@dataclass(frozen=True)
class Query:
    """A query with its evidence spans in characters of its document's text."""

    query_id: str
    doc_id: str
    query: str
    type: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Item:
    """A kept or dropped item of the funnel."""

    item_id: str
    kept: bool
    reason: str = ""


@dataclass(frozen=True)
class Corpus:
    """What a builder gives.

    Parameters
    ----------
    documents, queries
        In the order of the artifacts.
    funnels
        Stage name to items: what each filter kept and dropped. ``corpus`` (documents) is always there.
    """

    documents: Sequence[Document]
    queries: Sequence[Query]
    funnels: Mapping[str, Sequence[Item]] = field(default_factory=dict)


def documents_frame(documents: Sequence[Document]) -> pl.DataFrame:
    """Return documents as documents.parquet holds them."""
    return DOCUMENTS.frame(
        [
            {
                "doc_id": document.doc_id,
                "title": document.title,
                "text": document.text,
                "paragraphs": [{"start": start, "end": end} for start, end in document.paragraphs],
                "source": {"path": document.path, "revision": document.revision, "licence": document.licence},
                "topic": document.topic,
            }
            for document in documents
        ]
    )


def headings_frame(documents: Sequence[Document]) -> pl.DataFrame:
    """Return the heading trees as source/headings.parquet holds them; documents without headings have no row."""
    return HEADINGS.frame(
        [
            {
                "doc_id": document.doc_id,
                "section": index,
                "path": list(section.path),
                "par_start": section.par_start,
                "par_end": section.par_end,
            }
            for document in documents
            if document.has_headings
            for index, section in enumerate(document.sections)
        ]
    )


def queries_frame(queries: Sequence[Query]) -> pl.DataFrame:
    """Return queries as queries.parquet holds them: spans sorted, overlapping ones merged."""
    return QUERIES.frame(
        [
            {
                "query_id": query.query_id,
                "doc_id": query.doc_id,
                "query": query.query,
                "type": query.type,
                "spans": [{"start": start, "end": end} for start, end in merge(query.spans)],
            }
            for query in queries
        ]
    )


def funnel_frame(items: Iterable[Item]) -> pl.DataFrame:
    """Return items as a funnel file holds them."""
    return FUNNEL.frame([{"item_id": item.item_id, "kept": item.kept, "reason": item.reason} for item in items])


def verify(corpus: Corpus) -> list[str]:
    """Return every violation of what a corpus promises; empty when it is sound.

    Checked: unique ids without white space, at least one document, paragraphs that are exactly the text but for the
    blank lines between them, heading trees that tile the paragraphs, queries on existing documents with spans inside
    the text that are not only white space.
    """
    problems: list[str] = []
    if not corpus.documents:
        problems.append("the corpus has no document")
    texts: dict[str, str] = {}
    for document in corpus.documents:
        if document.doc_id in texts:
            problems.append(f"document {document.doc_id}: the id occurs twice")
        texts[document.doc_id] = document.text
        problems += [f"document {document.doc_id}: {problem}" for problem in _verify_document(document)]
    seen: set[str] = set()
    for query in corpus.queries:
        if query.query_id in seen:
            problems.append(f"query {query.query_id}: the id occurs twice")
        seen.add(query.query_id)
        problems += [f"query {query.query_id}: {problem}" for problem in _verify_query(query, texts)]
    return problems


def _verify_document(document: Document) -> list[str]:
    problems = []
    if not document.doc_id or document.doc_id.split() != [document.doc_id]:
        problems.append("the id is empty or has white space")
    if not document.paragraphs:
        problems.append("it has no paragraph")
    if SEPARATOR.join(document.text[slice(*span)] for span in document.paragraphs) != document.text:
        problems.append("its paragraphs do not make up its text")
    position = 0
    for section in document.sections:
        if section.par_start != position or section.par_end < section.par_start:
            problems.append(f"section {' › '.join(section.path) or '(lead)'} does not begin where the one before ends")
        position = section.par_end
    if position != len(document.paragraphs):
        problems.append(f"sections end at paragraph {position} of {len(document.paragraphs)}")
    return problems


def _verify_query(query: Query, texts: Mapping[str, str]) -> list[str]:
    if query.doc_id not in texts:
        return [f"its document {query.doc_id} is not in the corpus"]
    text = texts[query.doc_id]
    problems = [] if query.spans else ["it has no evidence"]
    for start, end in query.spans:
        if not 0 <= start < end <= len(text):
            problems.append(f"span [{start}, {end}) lies outside its document's {len(text)} characters")
        elif text[start:end].isspace():
            problems.append(f"span [{start}, {end}) holds only white space")
    return problems

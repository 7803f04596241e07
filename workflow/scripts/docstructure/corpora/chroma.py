"""Chroma's chunking_evaluation: a CSV of questions with references in characters of one Markdown file per corpus.

A row is ``question, references, corpus_id``; references are JSON, ``[{"content", "start_index", "end_index"}]``. A
corpus in WikiText's spaced tokenisation (`` = Title = ``, `` = = Section = = ``) is split into its articles, its lines
are its paragraphs; any other corpus is one document without headings.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from docstructure.corpora.corpus import Block, Corpus, CorpusError, Document, Heading, Item, Paragraph, Query, assemble
from docstructure.corpora.offsets import Reference, Settled, check_several_documents, place, settle
from docstructure.corpora.source import (
    BOM,
    SourceText,
    check_reading,
    decode,
    identifier,
    lines_at,
    paragraphs_at,
    parse_json,
    read_source,
    take_text,
)

HEADINGS = ("auto", "wikitext", "markdown", "none")
UTF8 = ("utf-8", "utf-8-sig")
SPLITTING = ("auto", "wikitext")
DEFINITIONS = ("text", "title")
COLUMNS = ("question", "references", "corpus_id")

_HEADING = re.compile(r"\s*((?:=\s)+)\s*([^=\s](?:.*[^=\s])?)\s*((?:\s=)+)\s*")


@dataclass(frozen=True)
class Options:
    """Options of the Chroma builder.

    Parameters
    ----------
    questions
        The CSV file.
    folder
        Folder of ``{corpus_id}.md``.
    corpora
        The corpus ids to build; empty: every one that the CSV names.
    headings
        ``wikitext``: split a file into articles at spaced headings; ``markdown``: one document with its Markdown
        headings; ``none``: one document without headings; ``auto``: wikitext where the file has an article heading,
        else none.
    definition_lines
        What `` = Goals ; A = `` is. WikiText leaves such lines of definition lists (``; G = Goals; A = Assists``):
        ``text``, or, for a count by pattern alone, the ``title`` of an article. Chroma's wikitexts.md has 10 articles
        and 7 such lines.
    several_documents
        A question with references in several articles: ``drop`` it with a reason, or ``split`` it.
    encoding
        Encoding of the Markdown files.
    newlines
        How offsets count CRLF: ``universal`` (one character) or ``kept`` (two).
    licence
        Licence of the texts, kept with each document.
    """

    questions: str
    folder: str
    corpora: Sequence[str] = ()
    headings: str = "auto"
    definition_lines: str = "text"
    several_documents: str = "drop"
    encoding: str = "utf-8"
    newlines: str = "universal"
    licence: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.corpora, str):
            raise ValueError(f"corpora: a list of corpus ids is expected, not {self.corpora!r}")
        if self.headings not in HEADINGS:
            raise ValueError(f"headings: {self.headings!r} is none of {', '.join(HEADINGS)}")
        if self.definition_lines not in DEFINITIONS:
            raise ValueError(f"definition_lines: {self.definition_lines!r} is none of {', '.join(DEFINITIONS)}")
        check_several_documents(self.several_documents)
        check_reading(self.encoding, self.newlines)
        if self.headings == "markdown" and self.encoding not in UTF8:
            raise ValueError(f"encoding: {self.encoding!r} with headings: markdown; allowed: {', '.join(UTF8)}")


@dataclass(frozen=True)
class Question:
    """A row of the CSV; `where` names it in messages."""

    query_id: str
    query: str
    corpus_id: str
    references: tuple[dict[str, Any], ...]
    where: str


def build(options: Options) -> Corpus:
    """Read the questions and the corpora they point into.

    Raises
    ------
    CorpusError
        If a file is missing or unreadable, a row is malformed, or a reference lies outside its file or is not its
        ``content``; the message names the row and the reference.
    """
    questions = list(_read_questions(options.questions))
    named = {question.corpus_id: question.where for question in questions}
    chosen = dict.fromkeys(options.corpora, "corpora") if options.corpora else named
    sources: dict[str, SourceText] = {}
    documents: dict[str, list[Document]] = {}
    for corpus_id, where in chosen.items():
        path = Path(options.folder) / f"{corpus_id}.md"
        if not path.is_file():
            raise CorpusError(f"{where}: corpus {corpus_id!r} has no file {path}")
        sources[corpus_id] = read_source(path, options.encoding, options.newlines)
        documents[corpus_id] = _make_documents(corpus_id, sources[corpus_id], options)
    settled = Settled()
    for question in questions:
        if question.corpus_id in documents:
            _settle_question(settled, question, documents, sources, options.several_documents)
        else:
            settled.drop(question.query_id, f"other_corpus: {question.corpus_id}")
    settled.require_queries(options.questions)
    found = [document for corpus in documents.values() for document in corpus]
    items = [Item(document.doc_id, bool(document.paragraphs), _emptiness(document)) for document in found]
    kept = [document for document in found if document.paragraphs]
    funnels = {"corpus": items, "queries": settled.items, "evidence": settled.evidence}
    return Corpus(kept, settled.queries, funnels)


def _emptiness(document: Document) -> str:
    return "" if document.paragraphs else "empty"


def _read_questions(path: str) -> Iterator[Question]:
    reader = csv.DictReader(io.StringIO(decode(path, "utf-8-sig"), newline=""), strict=True)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise CorpusError(
            f"{path}: column {', '.join(missing)} is missing; it has {', '.join(reader.fieldnames or ())}"
        )
    number = 0
    try:
        for number, row in enumerate(reader, start=1):
            yield _read_row(row, number, f"{path}, row {number} (ends in line {reader.line_num})")
    except csv.Error as error:
        raise CorpusError(f"{path}, line {reader.line_num}: not CSV: {error}") from None
    if not number:
        raise CorpusError(f"{path}: no question in it")


def _read_row(row: dict[Any, Any], number: int, where: str) -> Question:
    if None in row:
        raise CorpusError(f"{where}: it has more columns than the header: {row[None]!r}; quote a text with commas")
    corpus_id, written = take_text(row, "corpus_id", where), take_text(row, "references", where)
    try:
        references = parse_json(written)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{where}: references are not JSON: {error.msg} at character {error.pos}") from None
    except CorpusError as error:
        raise CorpusError(f"{where}: references: {error}") from None
    if not isinstance(references, list) or not references or not all(isinstance(item, dict) for item in references):
        raise CorpusError(f"{where}: references must be a list of at least one object")
    query = take_text(row, "question", where)
    return Question(f"{identifier(corpus_id)}:{number}", query, corpus_id, tuple(references), where)


def read_heading(line: str) -> Heading | None:
    """Return the heading that a line in WikiText's tokenisation is: ``= = Title = =`` has rank 2."""
    match = _HEADING.fullmatch(line)
    if match is None:
        return None
    rank = match[1].count("=")
    return Heading(rank, match[2]) if rank == match[3].count("=") else None


def _is_definition(heading: Heading) -> bool:
    """Whether a rank-1 "heading" is the middle of a tokenised definition list: ``= Goals ; A =``."""
    return heading.rank == 1 and " ; " in heading.title


def _make_documents(corpus_id: str, source: SourceText, options: Options) -> list[Document]:
    doc_id = identifier(corpus_id)
    path = f"{corpus_id}.md"
    articles = _split_articles(source.text, options.definition_lines) if options.headings in SPLITTING else []
    if any(title for title, _ in articles):
        ids = _name_articles(doc_id, [title for title, _ in articles])
        found = [
            assemble(name, title, blocks, path=path, licence=options.licence)
            for name, (title, blocks) in zip(ids, articles, strict=True)
        ]
    elif options.headings == "wikitext":
        raise CorpusError(f"{source.path}: no ` = Title = ` line in it, which headings: wikitext expects")
    elif options.headings == "markdown":
        found = [_read_markdown(doc_id, path, source, options.licence)]
    else:
        found = [assemble(doc_id, doc_id, paragraphs_at(source.text), path=path, licence=options.licence)]
    if not any(document.paragraphs for document in found):
        raise CorpusError(f"{source.path}: the corpus is empty: no text in it")
    return found


def _read_markdown(doc_id: str, path: str, source: SourceText, licence: str) -> Document:
    """Read a file with the Markdown builder, whose origins do not count a byte order mark."""
    from docstructure.corpora.markdown import read_article

    document = read_article(Path(source.path), doc_id, licence)
    shift = int(source.text.startswith(BOM))
    origins = tuple(None if origin is None else origin + shift for origin in document.origins)
    return replace(document, doc_id=doc_id, path=path, origins=origins)


def _split_articles(text: str, definition_lines: str) -> list[tuple[str, list[Block]]]:
    """Return title and blocks of each article; text before the first title is an article without title."""
    articles: list[tuple[str, list[Block]]] = []
    for left, right in lines_at(text, int(text.startswith(BOM)), len(text)):
        line = text[left:right]
        heading = read_heading(line)
        if heading is not None and _is_definition(heading) and definition_lines == "text":
            heading = None
        if heading is not None and heading.rank == 1:
            articles.append((heading.title, []))
            continue
        if not articles:
            if not line.strip():
                continue
            articles.append(("", []))
        articles[-1][1].append(heading or Paragraph(line, left))
    return articles


def _name_articles(corpus_id: str, titles: Sequence[str]) -> list[str]:
    """Return an id for each article: its title, numbered from the second of a title on; the corpus's without one."""
    seen: dict[str, int] = {}
    ids = []
    for title in titles:
        name = f"{corpus_id}/{identifier(title)}" if title else corpus_id
        seen[name] = seen.get(name, 0) + 1
        ids.append(name if seen[name] == 1 else f"{name}~{seen[name]}")
    return ids


def _settle_question(
    settled: Settled,
    question: Question,
    documents: dict[str, list[Document]],
    sources: dict[str, SourceText],
    several_documents: str,
) -> None:
    corpus, source = documents[question.corpus_id], sources[question.corpus_id]
    references = [
        _place_reference(row, f"{question.query_id}#{index}", corpus, source, f"{question.where}, reference {index}")
        for index, row in enumerate(question.references, start=1)
    ]
    query = Query(question.query_id, "", question.query, question.corpus_id, ())
    settle(settled, query, references, several_documents, question.where)


def _place_reference(
    row: dict[str, Any], item_id: str, documents: Sequence[Document], source: SourceText, where: str
) -> Reference:
    span = source.locate(row.get("start_index"), row.get("end_index"), where)
    source.check(span, row.get("content"), where)
    return place(item_id, documents, source.text, *span, where=where)

"""A folder of Markdown articles with a file of questions: the builder for one's own corpus.

Every top-level block (paragraph, list, table, code fence, block quote, HTML) is one paragraph, kept as its verbatim
slice of the file; only headings are taken out. CommonMark decides what a heading is, so ``#`` in code is none.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from docstructure.corpora.corpus import (
    Block,
    Corpus,
    CorpusError,
    Document,
    Heading,
    Item,
    Paragraph,
    Query,
    assemble,
)
from docstructure.corpora.evidence import find_quote
from docstructure.corpora.source import is_damaged, parse_json
from docstructure.spans import Span

SHOWN = 20
OFFSETS = ("text", "file")
WILDCARDS = frozenset("*?[")
QUESTION_KEYS = frozenset({"query", "doc", "type", "id", "evidence"})
EVIDENCE_FORMS = (frozenset({"quote"}), frozenset({"start", "end"}), frozenset({"section"}))
UNTYPED = "unspecified"


@dataclass(frozen=True)
class Options:
    """Where the corpus lies and how it is read.

    Parameters
    ----------
    folder
        Folder of the corpus, absolute or relative to where Snakemake runs.
    articles
        Glob of the articles, relative to `folder`; the part before its first wildcard is no part of a document's id.
    questions
        Questions file, relative to `folder`; null for a corpus without questions.
    offsets
        What ``start`` and ``end`` of evidence count: characters of the document's flat text (``text``), or of the file
        with its byte order mark dropped and its line ends as LF (``file``).
    licence
        Licence of articles whose front matter names none.
    """

    folder: str
    articles: str = "**/*.md"
    questions: str | None = "questions.jsonl"
    offsets: str = "text"
    licence: str = ""

    def __post_init__(self) -> None:
        if not self.folder:
            raise ValueError("builder markdown: folder is empty; name the folder of the corpus")
        if self.offsets not in OFFSETS:
            raise ValueError(f"builder markdown: offsets is {self.offsets!r}; allowed: {', '.join(OFFSETS)}")
        if not self.articles or self.articles.startswith("/") or ".." in PurePosixPath(self.articles).parts:
            raise ValueError(f"builder markdown: articles is {self.articles!r}; it must be a glob inside the folder")
        if self.questions is not None and not self.questions:
            raise ValueError("builder markdown: questions is empty; name a file, or null for none")


def build(options: Options) -> Corpus:
    """Read the articles and the questions.

    Raises
    ------
    CorpusError
        If the folder holds no article, or any file cannot be read as what it should be; all errors are collected and
        the first 20 listed, each with its file and place.
    """
    folder = Path(options.folder)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder (option folder of builder markdown)")
    base = folder.joinpath(*_fixed_parts(options.articles))
    files = sorted((path for path in folder.glob(options.articles) if path.is_file()), key=lambda path: path.as_posix())
    if not files:
        raise CorpusError(f"{folder}: no file matches {options.articles!r} (option articles of builder markdown)")
    errors: list[str] = []
    documents: list[Document] = []
    origin: dict[str, Path] = {}
    for path in files:
        try:
            document = read_article(path, path.relative_to(base).with_suffix("").as_posix(), options.licence)
        except CorpusError as error:
            errors.append(str(error))
            continue
        if document.doc_id in origin:
            errors.append(f"{path}: its id {document.doc_id} is also that of {origin[document.doc_id]}")
        origin.setdefault(document.doc_id, path)
        documents.append(document)
    _raise(errors)
    kept = [document for document in documents if document.paragraphs]
    reasons = [Item(document.doc_id, bool(document.paragraphs), _reason(document)) for document in documents]
    if not kept:
        raise CorpusError(f"{folder}: none of {len(documents)} articles has any text")
    if options.questions is None:
        return Corpus(kept, [], {"corpus": reasons})
    queries, errors = read_questions(folder / options.questions, documents, options.offsets)
    _raise(errors)
    return Corpus(kept, queries, {"corpus": reasons, "queries": [Item(query.query_id, True) for query in queries]})


def _fixed_parts(pattern: str) -> list[str]:
    """Return the folders of a glob that stand before its first wildcard."""
    fixed: list[str] = []
    for part in PurePosixPath(pattern).parts[:-1]:
        if WILDCARDS & set(part):
            break
        fixed.append(part)
    return fixed


def _reason(document: Document) -> str:
    return "" if document.paragraphs else "no text: the file holds headings at most"


def _raise(errors: Sequence[str]) -> None:
    if errors:
        more = [f"… and {len(errors) - SHOWN} more"] if len(errors) > SHOWN else []
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise CorpusError("\n".join([f"{count}:", *errors[:SHOWN], *more]))


def read_article(path: Path, name: str, licence: str = "") -> Document:
    """Read one article.

    Parameters
    ----------
    path
        The file.
    name
        Identifier unless the front matter gives one; runs of white space become ``-``.
    licence
        Licence unless the front matter gives one.
    """
    data = path.read_bytes()
    text = normalise(data, path)
    tokens = _parser().parse(text)
    front = _front_matter(tokens, path)
    heading = _title_heading(tokens)
    title = front.get("title") or (_heading_text(tokens, heading) if heading is not None else "") or path.stem
    return assemble(
        "-".join((front.get("id") or name).split()),
        " ".join(title.split()),
        _blocks(text, tokens, heading),
        path=path.as_posix(),
        revision="sha256:" + hashlib.sha256(data).hexdigest(),
        licence=front.get("licence") or front.get("license") or licence,
        topic=front.get("topic") or None,
    )


def normalise(data: bytes, path: Path) -> str:
    """Decode a file once: UTF-8 without byte order mark, every line end an LF. Offsets count from here on."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}: byte {error.start} (line {line}) is not UTF-8 ({error.reason}); save the file as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").use(front_matter_plugin)


def _front_matter(tokens: Sequence[Token], path: Path) -> dict[str, str]:
    """Return the scalars of the front matter as they are written (``title: 1984`` is the text 1984)."""
    if not tokens or tokens[0].type != "front_matter":
        return {}
    try:
        loaded = yaml.load(tokens[0].content, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 2}" if mark is not None else ""
        raise CorpusError(f"{path}{place}: the front matter is no YAML: {getattr(error, 'problem', error)}") from error
    except RecursionError:
        raise CorpusError(f"{path}: the front matter is nested too deeply") from None
    if loaded is None or loaded == "":
        return {}
    if not isinstance(loaded, Mapping):
        raise CorpusError(f"{path}: the front matter is no mapping of keys to values")
    for key in ("title", "id", "topic", "licence", "license"):
        if not isinstance(loaded.get(key, ""), str):
            raise CorpusError(f"{path}: {key} in the front matter is no single value: {loaded[key]!r}")
        if is_damaged(loaded.get(key, "")):
            raise CorpusError(f"{path}: {key} in the front matter holds half of a surrogate pair; the text is damaged")
    return {key: value.strip() for key, value in loaded.items() if isinstance(key, str) and isinstance(value, str)}


def _title_heading(tokens: Sequence[Token]) -> int | None:
    """Return the index of the document's own heading: its only heading of rank 1, where it opens the file."""
    ones = [
        index
        for index, token in enumerate(tokens)
        if token.level == 0 and token.type == "heading_open" and token.tag == "h1"
    ]
    opening = 1 if tokens and tokens[0].type == "front_matter" else 0
    return opening if ones == [opening] else None


def _heading_text(tokens: Sequence[Token], opened: int) -> str:
    """Return a heading's text without its markup."""
    parts = []
    for child in tokens[opened + 1].children or []:
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type != "html_inline":
            parts.append(child.content)
    return "".join(parts)


def _blocks(text: str, tokens: Sequence[Token], title: int | None) -> Iterator[Block]:
    """Yield headings and paragraphs in reading order; every line with text is in exactly one of them.

    Lines that no block claims (link reference definitions) are paragraphs of their own.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    done = 0
    for index, token in enumerate(tokens):
        if token.level > 0 or token.map is None:
            continue
        first, last = token.map
        yield from _paragraphs(lines, starts, done, first)
        if token.type == "heading_open":
            if index != title:
                yield Heading(int(token.tag[1:]), _heading_text(tokens, index))
        elif token.type != "front_matter":
            yield from _paragraphs(lines, starts, first, last, whole=True)
        done = last
    yield from _paragraphs(lines, starts, done, len(lines))


def _paragraphs(
    lines: Sequence[str], starts: Sequence[int], first: int, last: int, whole: bool = False
) -> Iterator[Paragraph]:
    """Yield lines ``[first, last)`` as one paragraph (`whole`), or as one per run of lines with text."""
    run: list[int] = []
    for number in range(first, last):
        if lines[number].strip():
            run.append(number)
        elif run and not whole:
            yield _slice(lines, starts, run)
            run = []
    if run:
        yield _slice(lines, starts, run)


def _slice(lines: Sequence[str], starts: Sequence[int], run: Sequence[int]) -> Paragraph:
    return Paragraph("\n".join(lines[run[0] : run[-1] + 1]), starts[run[0]])


def read_questions(path: Path, documents: Sequence[Document], offsets: str) -> tuple[list[Query], list[str]]:
    """Read a questions file, one JSON object a line, and return its queries and all its errors.

    An object is ``{"query", "doc", "type"?, "id"?, "evidence": [...]}``, each piece of evidence one of ``{"quote"}``
    (stands once in the document; runs of white space count as equal), ``{"start", "end"}`` and ``{"section": [titles
    from the top]}`` (with its subsections). The default id is ``{doc}-q{n:03d}``, n counting the questions of the
    document in file order.
    """
    if not path.is_file():
        return [], [f"{path}: no such file; set questions to null for a corpus without questions"]
    try:
        text = normalise(path.read_bytes(), path)
    except CorpusError as error:
        return [], [str(error)]
    by_id = {document.doc_id: document for document in documents}
    queries: list[Query] = []
    errors: list[str] = []
    asked: Counter[str] = Counter()
    places: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            query = _question(line, by_id, asked, offsets)
            if query.query_id in places:
                raise CorpusError(f"id {query.query_id} is also that of line {places[query.query_id]}")
        except CorpusError as error:
            errors += [f"{path}:{number}: {problem}" for problem in str(error).split("\n")]
        else:
            places[query.query_id] = number
            queries.append(query)
    if not queries and not errors:
        errors.append(f"{path}: it holds no question; set questions to null for a corpus without questions")
    return queries, errors


def _question(line: str, documents: Mapping[str, Document], asked: Counter[str], offsets: str) -> Query:
    """Read one line; `asked` counts the questions of each document so far."""
    row = _parse(line)
    doc_id = _text(row, "doc")
    asked[doc_id] += 1
    query_id = _text(row, "id", f"{doc_id}-q{asked[doc_id]:03d}")
    if query_id.split() != [query_id]:
        raise CorpusError(f"id {query_id!r} has white space")
    query, kind = _text(row, "query"), _text(row, "type", UNTYPED)
    if doc_id not in documents:
        raise CorpusError(f"document {doc_id!r} is not in the corpus, which has {len(documents)} documents")
    evidence = row.get("evidence")
    if not isinstance(evidence, list) or not evidence:
        raise CorpusError("evidence is no list with at least one piece")
    spans: list[Span] = []
    problems = []
    for piece in evidence:
        try:
            spans += _find(piece, documents[doc_id], offsets)
        except CorpusError as error:
            problems.append(str(error))
    if problems:
        raise CorpusError("\n".join(problems))
    return Query(query_id, doc_id, query, kind, tuple(spans))


def _parse(line: str) -> dict[str, Any]:
    try:
        row = parse_json(line, _unique)
    except json.JSONDecodeError as error:
        raise CorpusError(f"no JSON: {error.msg} at column {error.colno}") from error
    if not isinstance(row, dict):
        raise CorpusError("no JSON object")
    unknown = sorted(set(row) - QUESTION_KEYS)
    if unknown:
        raise CorpusError(f"unknown key {', '.join(unknown)}; a question has {', '.join(sorted(QUESTION_KEYS))}")
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise CorpusError(f"a key occurs twice in {', '.join(key for key, _ in pairs)}")
    return row


def _text(row: Mapping[str, Any], key: str, default: str = "") -> str:
    value = row.get(key)
    if value is None and default:
        return default
    if not isinstance(value, str) or not value.strip():
        raise CorpusError(f"{key} is {'missing' if key not in row else 'no text'}")
    return value.strip()


def _find(piece: object, document: Document, offsets: str) -> list[Span]:
    """Return the spans of one piece of evidence in the document's text."""
    if not isinstance(piece, dict) or frozenset(piece) not in EVIDENCE_FORMS:
        raise CorpusError(f'evidence is {{"quote"}}, {{"start", "end"}} or {{"section"}}, not {_short(piece)}')
    if "quote" in piece:
        return _find_quote(piece["quote"], document)
    if "section" in piece:
        return _find_section(piece["section"], document)
    return _find_offsets(piece["start"], piece["end"], document, offsets)


def _find_quote(quote: object, document: Document) -> list[Span]:
    if not isinstance(quote, str) or not quote.strip():
        raise CorpusError(f"quote is no text: {_short(quote)}")
    found = find_quote(document.text, quote)
    if not found:
        raise CorpusError(f"quote {_short(quote)} is not in document {document.doc_id}")
    if len(found) > 1:
        places = ", ".join(f"[{start}, {end})" for start, end in found)
        raise CorpusError(f"quote {_short(quote)} stands {len(found)} times in document {document.doc_id}: at {places}")
    return found


def _find_section(titles: object, document: Document) -> list[Span]:
    if not isinstance(titles, list) or not titles or not all(isinstance(title, str) for title in titles):
        raise CorpusError(f"section is no list of titles from the top: {_short(titles)}")
    path = tuple(" ".join(title.split()) for title in titles)
    name = f"section {' › '.join(path)} of document {document.doc_id}"
    spans = document.subtree(path)
    if not spans:
        known = any(section.path[: len(path)] == path for section in document.sections)
        raise CorpusError(f"{name} has no text" if known else f"{name}: no such section")
    if len(spans) > 1:
        places = ", ".join(f"[{start}, {end})" for start, end in spans)
        raise CorpusError(f"{name} is ambiguous: there are {len(spans)}, at {places}")
    return spans


def _find_offsets(start: object, end: object, document: Document, offsets: str) -> list[Span]:
    if not _is_int(start) or not _is_int(end):
        raise CorpusError(f"start and end are no whole numbers: {_short(start)}, {_short(end)}")
    if not 0 <= start < end:
        raise CorpusError(f"span [{start}, {end}) is empty, reversed or negative")
    if offsets == "text":
        if end > len(document.text):
            raise CorpusError(
                f"span [{start}, {end}) ends past the {len(document.text)} characters of {document.doc_id}"
            )
        spans = [(start, end)]
    else:
        length = len(normalise(Path(document.path).read_bytes(), Path(document.path)))
        if end > length:
            raise CorpusError(f"span [{start}, {end}) ends past the {length} characters of file {document.path}")
        spans = document.from_origin(start, end)
    spans = [span for span in spans if not document.text[slice(*span)].isspace()]
    if not spans:
        raise CorpusError(f"span [{start}, {end}) of {document.doc_id} holds no text (headings are not in the text)")
    return spans


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"

"""LegalBench-RAG: benchmark JSON files over a folder of .txt files, evidence in characters of those files.

A benchmark is ``{"tests": [{"query", "snippets": [{"file_path", "span": [start, end], "answer"?}], "tags"?}]}``. Its
offsets were counted by Python in text mode (CRLF is one character, a byte order mark is one), and its file paths
are in Unicode normal form C whatever the file system keeps. The files have no headings: a corpus without gold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from docstructure.corpora.corpus import Corpus, CorpusError, Document, Item, Query, assemble
from docstructure.corpora.offsets import Reference, Settled, check_several_documents, place, settle
from docstructure.corpora.source import (
    SourceText,
    check_reading,
    identifier,
    paragraphs_at,
    read_json,
    read_source,
    take_text,
)

DOCUMENTS = ("referenced", "all")


@dataclass(frozen=True)
class Options:
    """Options of the LegalBench-RAG builder.

    Parameters
    ----------
    benchmarks
        Benchmark JSON files, each with a name of its own: it is the prefix of its query ids and their type.
    folder
        Folder that ``file_path`` is relative to.
    documents
        ``referenced``: the files that a snippet names, as the benchmark's own runner indexes them; ``all``: every
        .txt file of the folder.
    several_documents
        A query with evidence in several files: ``drop`` it with a reason, or ``split`` it.
    encoding
        Encoding of the .txt files.
    newlines
        How offsets count CRLF: ``universal`` (one character) or ``kept`` (two).
    licence
        Licence of the texts, kept with each document.
    """

    benchmarks: Sequence[str]
    folder: str
    documents: str = "referenced"
    several_documents: str = "drop"
    encoding: str = "utf-8"
    newlines: str = "universal"
    licence: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.benchmarks, str) or not self.benchmarks:
            raise ValueError(f"benchmarks: a list of JSON files is expected, not {self.benchmarks!r}")
        if self.documents not in DOCUMENTS:
            raise ValueError(f"documents: {self.documents!r} is none of {', '.join(DOCUMENTS)}")
        check_several_documents(self.several_documents)
        check_reading(self.encoding, self.newlines)


@dataclass(frozen=True)
class Snippet:
    """A piece of evidence as the benchmark gives it; `file` is its normalised path, `where` names it in messages."""

    file: str
    start: object
    end: object
    answer: object
    where: str


@dataclass(frozen=True)
class Test:
    """A query as the benchmark gives it."""

    query_id: str
    query: str
    benchmark: str
    snippets: tuple[Snippet, ...]
    where: str


def build(options: Options) -> Corpus:
    """Read the benchmarks and the files they point into.

    Raises
    ------
    CorpusError
        If a file is missing or unreadable, a test or snippet is malformed, a span lies outside its file, or its text
        is not its ``answer``; the message names the benchmark, the test and the snippet.
    """
    tests = [test for path in options.benchmarks for test in _read_benchmark(path)]
    repeated = _repeated([test.query_id for test in tests])
    if repeated:
        raise CorpusError(f"benchmarks: two files have the same name: query id {repeated} occurs twice; rename one")
    files = _list_files(options.folder)
    repeated = _repeated([_document_id(file) for file in files])
    if repeated:
        raise CorpusError(
            f"{options.folder}: document id {repeated} occurs twice: two names differ in white space only"
        )
    named = {snippet.file: snippet.where for test in tests for snippet in test.snippets}
    for file, where in named.items():
        if file not in files:
            raise CorpusError(f"{where}: no file {file} in {options.folder}")
    if not named:
        raise CorpusError(f"{', '.join(options.benchmarks)}: none of {len(tests)} tests has a snippet")
    kept = sorted(files) if options.documents == "all" else sorted(named)
    sources = {file: read_source(files[file], options.encoding, options.newlines) for file in kept}
    documents, items = _make_documents(sources, options.licence)
    items += [Item(_document_id(file), False, "not_referenced") for file in sorted(set(files) - set(kept))]
    settled = Settled()
    for test in tests:
        _settle_test(settled, test, documents, sources, options.several_documents)
    settled.require_queries(", ".join(options.benchmarks))
    funnels = {"corpus": items, "queries": settled.items, "evidence": settled.evidence}
    return Corpus(list(documents.values()), settled.queries, funnels)


def _read_benchmark(path: str) -> Iterator[Test]:
    content = read_json(path)
    rows = content.get("tests") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise CorpusError(f'{path}: a benchmark is {{"tests": [...]}} with at least one test')
    name = identifier(Path(path).stem)
    for number, row in enumerate(rows, start=1):
        where = f"{path}, test {number}"
        if not isinstance(row, dict):
            raise CorpusError(f"{where}: an object is expected, not {row!r}")
        snippets = row.get("snippets")
        if not isinstance(snippets, list):
            raise CorpusError(f"{where}: snippets must be a list, not {snippets!r}")
        found = tuple(_read_snippet(item, f"{where}, snippet {index}") for index, item in enumerate(snippets, start=1))
        yield Test(f"{name}:{number}", take_text(row, "query", where), name, found, where)


def _read_snippet(row: object, where: str) -> Snippet:
    if not isinstance(row, dict):
        raise CorpusError(f"{where}: an object is expected, not {row!r}")
    span = row.get("span")
    if not isinstance(span, list) or len(span) != 2:
        raise CorpusError(f"{where}: span must be [start, end], not {span!r}")
    file = unicodedata.normalize("NFC", take_text(row, "file_path", where))
    return Snippet(str(PurePosixPath(file)), span[0], span[1], row.get("answer"), where)


def _list_files(folder: str) -> dict[str, Path]:
    """Return the .txt files of a folder by path in it, in normal form C with ``/``."""
    if not Path(folder).is_dir():
        raise CorpusError(f"{folder}: no such folder")
    files = {
        unicodedata.normalize("NFC", path.relative_to(folder).as_posix()): path
        for path in sorted(Path(folder).rglob("*.txt"))
        if path.is_file()
    }
    if not files:
        raise CorpusError(f"{folder}: no .txt file in it")
    return files


def _document_id(file: str) -> str:
    return identifier(file.removesuffix(".txt"))


def _make_documents(sources: Mapping[str, SourceText], licence: str) -> tuple[dict[str, Document], list[Item]]:
    """Return the document of each file that has text, and the funnel of all files."""
    documents, items = {}, []
    for file, source in sources.items():
        title = PurePosixPath(file).stem
        document = assemble(_document_id(file), title, paragraphs_at(source.text), path=file, licence=licence)
        has_text = bool(document.paragraphs)
        if has_text:
            documents[file] = document
        items.append(Item(document.doc_id, has_text, "" if has_text else "empty"))
    if not documents:
        raise CorpusError("the corpus is empty: no .txt file has text")
    return documents, items


def _settle_test(
    settled: Settled,
    test: Test,
    documents: Mapping[str, Document],
    sources: Mapping[str, SourceText],
    several_documents: str,
) -> None:
    if not test.snippets:
        settled.drop(test.query_id, "no_evidence")
        return
    references = [
        _place_snippet(snippet, f"{test.query_id}#{index}", documents, sources)
        for index, snippet in enumerate(test.snippets, start=1)
    ]
    settle(settled, Query(test.query_id, "", test.query, test.benchmark, ()), references, several_documents, test.where)


def _place_snippet(
    snippet: Snippet, item_id: str, documents: Mapping[str, Document], sources: Mapping[str, SourceText]
) -> Reference:
    source = sources[snippet.file]
    span = source.locate(snippet.start, snippet.end, snippet.where)
    if snippet.answer is not None:
        source.check(span, snippet.answer, snippet.where)
    made_of_it = [documents[snippet.file]] if snippet.file in documents else []
    return place(item_id, made_of_it, source.text, *span, where=snippet.where)


def _repeated(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None

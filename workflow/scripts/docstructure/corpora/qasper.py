"""QASPER: NLP papers with readers' questions and gold evidence paragraphs (paper 4.2, appendix G).

All splits are merged. A document is the paper's paragraphs; its gold structure is the paper's own sections, nested by
the ``:::`` in their names. Questions become queries when their evidence is found in the text; every question, answer
and evidence string that does not is in the funnel with a reason.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docstructure.corpora.corpus import Block, Corpus, Document, Heading, Item, Paragraph, Query, assemble
from docstructure.corpora.qasper_answers import AnswerPolicy, Verdict, judge
from docstructure.corpora.qasper_evidence import EvidenceIndex, Match, Matching, section_path
from docstructure.corpora.qasper_papers import Paper, Question
from docstructure.corpora.qasper_sources import (
    Source,
    merge_sources,
    read_archives,
    read_dataset,
    read_files,
    read_parquet,
)
from docstructure.corpora.qasper_statistics import render, statistics

LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class Options:
    """Where QASPER comes from and how its labels are read.

    Parameters
    ----------
    files
        JSON files in the shape of the official v0.3 release.
    archives
        Official .tgz archives: ``{path: ..., sha256: ...}`` or ``{url: ..., sha256: ...}``.
    parquet
        Files of the hub's parquet conversion.
    dataset
        The same through `datasets`: ``{path: allenai/qasper, name: ..., revision: refs/convert/parquet}``.
    download_folder, download_attempts
        Where archives given by URL are kept, and how often a transfer is tried.
    abstract
        ``omit`` it, or put it before the first section (``lead``).
    floats
        Evidence that is a figure or table: ``drop_evidence`` leaves it out, ``drop_question`` drops the question.
    annotators, unanswerable, contradictory, numeric_only, type_rule, type_by
        See `AnswerPolicy`.
    fuzzy_scorer, fuzzy_threshold, repeated, section_fallback
        See `Matching`.
    """

    files: Sequence[str] = ()
    archives: Sequence[Mapping[str, Any]] = ()
    parquet: Sequence[str] = ()
    dataset: Mapping[str, Any] | None = None
    download_folder: str = "cache/downloads"
    download_attempts: int = 5
    abstract: str = "omit"
    annotators: str = "union"
    unanswerable: str = "all"
    contradictory: str = "drop"
    floats: str = "drop_evidence"
    numeric_only: str = "drop"
    repeated: str = "first"
    fuzzy_scorer: str = "ratio"
    fuzzy_threshold: float = 90.0
    section_fallback: str = "named"
    type_rule: str = "evaluator"
    type_by: str = "majority"

    def __post_init__(self) -> None:
        for key in ("files", "archives", "parquet"):
            if isinstance(getattr(self, key), str | Mapping):
                raise ValueError(f"{key} is {getattr(self, key)!r}; allowed is a list")
        if not (self.files or self.archives or self.parquet or self.dataset):
            raise ValueError("no source: give files, archives, parquet or dataset")
        for archive in self.archives:
            if set(archive) not in ({"path", "sha256"}, {"url", "sha256"}):
                raise ValueError(f"archives: {dict(archive)!r}; allowed is {{path, sha256}} or {{url, sha256}}")
        if self.dataset is not None and not {"path"} <= set(self.dataset) <= {"path", "name", "revision"}:
            raise ValueError(f"dataset is {dict(self.dataset)!r}; allowed is {{path, name, revision}}")
        if isinstance(self.download_attempts, bool) or self.download_attempts < 1:
            raise ValueError(f"download_attempts is {self.download_attempts!r}; allowed are whole numbers from 1")
        for key, allowed in (("abstract", ("omit", "lead")), ("floats", ("drop_evidence", "drop_question"))):
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key} is {getattr(self, key)!r}; allowed are {', '.join(allowed)}")
        self.policy()
        self.matching()

    def policy(self) -> AnswerPolicy:
        """Return whose answers count."""
        return AnswerPolicy(
            self.annotators, self.unanswerable, self.contradictory, self.numeric_only, self.type_rule, self.type_by
        )

    def matching(self) -> Matching:
        """Return how evidence is looked up."""
        return Matching(self.fuzzy_scorer, self.fuzzy_threshold, self.repeated, self.section_fallback)


def build(options: Options) -> Corpus:
    """Read all sources, merge them into one corpus, and print its funnel beside the paper's.

    Raises
    ------
    CorpusError
        If a source cannot be read as QASPER, or sources contradict one another.
    """
    sources = list(read_sources(options))
    for source in sources:
        print(f"QASPER: {source.size_note()}", file=sys.stderr)
    corpus = corpus_of(merge_sources(sources), options)
    print(render(statistics(corpus)), file=sys.stderr)
    return corpus


def read_sources(options: Options) -> Iterator[Source]:
    """Read every source that the options name."""
    yield from read_files(options.files)
    yield from read_archives(options.archives, options.download_folder, options.download_attempts)
    yield from read_parquet(options.parquet)
    if options.dataset is not None:
        yield from read_dataset(options.dataset)


def corpus_of(papers: Sequence[tuple[Source, Paper]], options: Options) -> Corpus:
    """Make the corpus of papers: documents, queries and the funnels ``corpus``, ``queries`` and ``evidence``."""
    repeated = Counter(_word(question.question_id) for _, paper in papers for question in paper.questions)
    documents: list[Document] = []
    queries: list[Query] = []
    funnels: dict[str, list[Item]] = {"corpus": [], "queries": [], "evidence": []}
    for source, paper in papers:
        document = document_of(paper, source, options.abstract)
        usable = bool(document.paragraphs)
        funnels["corpus"].append(Item(document.doc_id, usable, "" if usable else "no-text"))
        if usable:
            documents.append(document)
        index = EvidenceIndex(document, options.matching())
        asked: dict[str, Question] = {}
        for question in paper.questions:
            query_id, duplicate = _identify(question, document.doc_id, repeated, asked)
            reader = _Reader(query_id, question, index, options)
            query, items = reader.read("no-document" if not usable else "duplicate" if duplicate else "")
            funnels["evidence"] += items
            funnels["queries"].append(Item(query_id, query is not None, reader.reason))
            if query is not None:
                queries.append(query)
    return Corpus(documents, queries, funnels)


def document_of(paper: Paper, source: Source, abstract: str) -> Document:
    """Assemble a paper's document."""
    return assemble(
        _word(paper.paper_id),
        paper.title.strip(),
        blocks(paper, abstract),
        path=source.path,
        revision=source.revision,
        licence=LICENCE,
    )


def blocks(paper: Paper, abstract: str) -> Iterator[Block]:
    """Give a paper's headings and paragraphs in reading order.

    A row named ``A ::: B`` opens B inside the A that is open, or opens A as well where none is (a parent without text
    of its own has no row). A row without a name continues the section before it.
    """
    if abstract == "lead":
        yield Paragraph(paper.abstract)
    opened: tuple[str, ...] = ()
    for row in paper.rows:
        path = section_path(row.name)
        if path:
            for depth in range(_shared(opened, path), len(path)):
                yield Heading(depth + 1, path[depth])
            opened = path
        for paragraph in row.paragraphs:
            yield Paragraph(paragraph)


def _shared(opened: tuple[str, ...], path: tuple[str, ...]) -> int:
    """Return how many titles of `path` are open already; its last one never is: each row is a section."""
    shared = 0
    while shared < min(len(opened), len(path) - 1) and opened[shared] == path[shared]:
        shared += 1
    return shared


def _word(identifier: str) -> str:
    """Return an identifier without white space."""
    return "_".join(identifier.split())


def _identify(
    question: Question, doc_id: str, repeated: Mapping[str, int], asked: dict[str, Question]
) -> tuple[str, bool]:
    """Return a query id that is unique in the corpus, and whether the paper holds the very same question before.

    It is the question id; where that repeats, ``{doc_id}:{question id}``, with ``:2``, ``:3`` ... inside one paper.
    """
    word = _word(question.question_id)
    base = word if word and repeated[word] == 1 else f"{doc_id}:{word}"
    query_id, count = base, 1
    while query_id in asked:
        count += 1
        query_id = f"{base}:{count}"
    duplicate = question in asked.values()
    asked[query_id] = question
    return query_id, duplicate


class _Reader:
    """Turns one question into a query, or into the reason why not."""

    def __init__(self, query_id: str, question: Question, index: EvidenceIndex, options: Options) -> None:
        self.query_id = query_id
        self.question = question
        self.index = index
        self.options = options
        self.reason = ""

    def read(self, dropped: str) -> tuple[Query | None, list[Item]]:
        """Return the query (None when dropped, for the given reason or its own) and what became of its evidence."""
        verdict = judge(self.question, self.options.policy())
        matches: list[Match] = []
        items: list[Item] = []
        for number, answer in enumerate(self.question.answers):
            names = [f"{self.query_id}/{number}/{position}" for position in range(len(answer.evidence))]
            aside = dropped or verdict.set_aside[number]
            if aside:
                items += [Item(name, kept=False, reason=aside) for name in names]
                continue
            found = self.index.match_all(answer.evidence)
            items += [Item(name, bool(match.spans), str(match)) for name, match in zip(names, found, strict=True)]
            matches += found
        self.reason = dropped or verdict.reason or self._without_evidence(matches)
        return (None if self.reason else self._query(verdict, matches)), items

    def _without_evidence(self, matches: Sequence[Match]) -> str:
        steps = {match.step for match in matches} - {"empty"}
        if not steps:
            return "no-evidence"
        if steps == {"float"}:
            return "float-only"
        if "float" in steps and self.options.floats == "drop_question":
            return "float"
        return "" if any(match.spans for match in matches) else "unmatched"

    def _query(self, verdict: Verdict, matches: Sequence[Match]) -> Query:
        spans = tuple(sorted({span for match in matches for span in match.spans}))
        text = " ".join(self.question.question.split())
        return Query(self.query_id, self.index.document.doc_id, text, verdict.type, spans)

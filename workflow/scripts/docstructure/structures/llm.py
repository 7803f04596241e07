"""Sections by a language model from numbered paragraphs, without headings and title (paper 3.3, H).

Every answer is checked mechanically. One that breaks a rule gets one correction round that quotes what it breaks; what
is still broken then is repaired by rule (`docstructure.tree.repair`) or makes the document unusable, with the reason.

A document whose prompt does not fit the model's context is *split* in two at the paragraph boundary nearest to its
middle (in characters), and each half again while it does not fit; the parts are asked for separately, and their
sections stand one after another. Nothing is ever cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import polars as pl

from docstructure.llm.client import Client
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.llm.templates import render
from docstructure.structures.llm_answer import Answer, read, schema
from docstructure.structures.outcome import Flat, Outcome, settle, summary
from docstructure.tree import Proposal, Unusable, repair, violations

ON_TOO_LONG = ("split", "unusable")
QUOTED_PROBLEMS = 20
QUOTED_CHARACTERS = 2000


@dataclass(frozen=True)
class Options:
    """A language model as inducer.

    Parameters
    ----------
    model
        Name in ``definitions.models``.
    max_tokens
        Longest answer, in the model's tokens.
    on_too_long
        What becomes of a document whose prompt does not fit: one of `ON_TOO_LONG`.
    correction_rounds
        How often an answer is sent back with what is wrong: 1 (paper) or 0.
    prompt
        Name of the template in resources/prompts; its correction is ``{prompt}_correction``.
    sampling
        Fields of `docstructure.llm.sampling.Sampling`; greedy by default.
    """

    reads_headings: ClassVar[bool] = False
    asks_model: ClassVar[bool] = True

    model: str
    max_tokens: int = 8192
    on_too_long: str = "split"
    correction_rounds: int = 1
    prompt: str = "induction"
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"llm: max_tokens is {self.max_tokens}; it is at least 1")
        if self.on_too_long not in ON_TOO_LONG:
            raise ValueError(f"llm: on_too_long is {self.on_too_long!r}; it is one of {', '.join(ON_TOO_LONG)}")
        if self.correction_rounds not in (0, 1):
            raise ValueError(f"llm: correction_rounds is {self.correction_rounds}; it is 0 or 1")
        Sampling(**self.sampling)


@dataclass(frozen=True)
class _Part:
    """Paragraphs of a document that are asked about together, half-open; mostly all of them."""

    document: Flat
    start: int
    end: int

    @property
    def id(self) -> str:
        return f"{self.document.doc_id}[{self.start}:{self.end}]"

    @property
    def size(self) -> int:
        return self.end - self.start

    def prompt(self, options: Options) -> Messages:
        return render(options.prompt, paragraphs=self.document.paragraph_texts[self.start : self.end])

    def halves(self) -> tuple[_Part, _Part]:
        """Split at the paragraph start that is nearest to the middle, the earlier one of two."""
        paragraphs = self.document.paragraphs
        middle = (paragraphs[self.start][0] + paragraphs[self.end - 1][1]) / 2
        at = min(range(self.start + 1, self.end), key=lambda index: (abs(paragraphs[index][0] - middle), index))
        return replace(self, end=at), replace(self, start=at)


@dataclass(frozen=True)
class _Try:
    """One answer about a part, read; paragraphs count from the part's first."""

    result: Result
    answer: Answer
    problems: tuple[str, ...]

    @property
    def failure(self) -> str:
        """Why there is nothing to work with; empty when there is something."""
        return "" if self.answer.proposals else self.result.problem or summary(self.problems)

    def is_usable(self, part: _Part) -> bool:
        """Whether a legal structure of the part can be made of it."""
        try:
            repair(self.answer.proposals, part.size)
        except Unusable:
            return False
        return True


def induce(
    options: Options, documents: Sequence[Flat], headings: pl.DataFrame | None, language: str, llm: Mapping[str, Any]
) -> Iterator[Outcome]:
    """Yield the outcome of each document, in order.

    Parameters
    ----------
    options
        The inducer's options.
    documents
        Documents without headings and title.
    headings, language
        Not used.
    llm
        ``models`` (``definitions.models``), ``cache`` (a folder) and ``offline``, as `Client.named` takes them.
    """
    sampling = Sampling(**options.sampling)
    with Client.named(options.model, llm["models"], llm["cache"], sampling, offline=llm["offline"]) as client:
        yield from induce_by(client, options, documents)


def induce_by(client: Client, options: Options, documents: Sequence[Flat]) -> Iterator[Outcome]:
    """Yield the outcome of each document, in order, by this client's answers."""
    parts, firsts = _ask(options, [_Part(document, 0, len(document.paragraphs)) for document in documents], client)
    seconds = _correct(options, parts, firsts, client) if options.correction_rounds else {}
    by_document: dict[str, list[_Part]] = {}
    for part in parts:
        by_document.setdefault(part.document.doc_id, []).append(part)
    for document in documents:
        own = sorted(by_document.get(document.doc_id, ()), key=lambda part: part.start)
        yield _conclude(document, own, firsts, seconds)


def _ask(options: Options, parts: Sequence[_Part], client: Client) -> tuple[list[_Part], dict[str, _Try]]:
    """Return the parts that were asked about in the end, and the first answer to each."""
    asked: list[_Part] = []
    tries: dict[str, _Try] = {}
    open_ = [part for part in parts if part.size]
    while open_:
        results = client.complete([_request(options, part) for part in open_])
        too_long = []
        for part in open_:
            result = results[part.id]
            if result.finish_reason == "too_long" and options.on_too_long == "split" and part.size > 1:
                too_long.append(part)
            else:
                asked.append(part)
                tries[part.id] = _read(result, part, options)
        open_ = [half for part in too_long for half in part.halves()]
    return asked, tries


def _request(options: Options, part: _Part) -> Request:
    return Request(part.id, part.prompt(options), options.max_tokens, schema(part.size))


def _read(result: Result, part: _Part, options: Options) -> _Try:
    if result.finish_reason == "length":
        problem = f"the answer was cut off after {options.max_tokens} tokens: write fewer sections"
        return _Try(result, Answer(()), (problem,))
    if not result.ok:
        return _Try(result, Answer(()), (result.problem,))
    answer = read(result.text)
    broken = violations(answer.proposals, part.size) if answer.proposals or not answer.problems else []
    return _Try(result, answer, (*answer.problems, *broken))


def _correct(options: Options, parts: Sequence[_Part], firsts: Mapping[str, _Try], client: Client) -> dict[str, _Try]:
    """Ask again about each answer that breaks a rule, once; an answer that never came is not asked for again."""
    wrong = [
        part
        for part in parts
        if firsts[part.id].problems and firsts[part.id].result.finish_reason in ("stop", "length")
    ]
    requests = [
        replace(_request(options, part), messages=_correction(options, part, firsts[part.id])) for part in wrong
    ]
    results = client.complete(requests) if requests else {}
    return {part.id: _read(results[part.id], part, options) for part in wrong}


def _correction(options: Options, part: _Part, first: _Try) -> Messages:
    """Return the conversation so far, and what is wrong with the answer."""
    text = first.result.text
    if not first.answer.proposals and len(text) > QUOTED_CHARACTERS:
        text = text[:QUOTED_CHARACTERS] + " …"
    problems = list(first.problems[:QUOTED_PROBLEMS])
    if len(first.problems) > QUOTED_PROBLEMS:
        problems.append(f"and {len(first.problems) - QUOTED_PROBLEMS} more of the same kinds")
    quoted = render(f"{options.prompt}_correction", problems=problems, n_paragraphs=part.size)
    return (*part.prompt(options), ("assistant", text or "(nothing)"), *quoted)


def _conclude(
    document: Flat, parts: Sequence[_Part], firsts: Mapping[str, _Try], seconds: Mapping[str, _Try]
) -> Outcome:
    """Return the outcome of the corrected answers; of a first one where its correction is of no use."""
    if not parts:
        return Outcome(document.doc_id, (), "unusable", "the document has no paragraph")
    chosen, corrected, unhelped = [], list[str](), list[str]()
    for part in parts:
        first, second = firsts[part.id], seconds.get(part.id)
        if second is None:
            chosen.append(first)
        elif second.is_usable(part) or not first.is_usable(part):
            chosen.append(second)
            corrected += first.problems
        else:
            chosen.append(first)
            unhelped.append(f"its correction is of no use: {second.failure or summary(second.problems)}")
    failures = [
        attempt.failure + _where(part, parts) for part, attempt in zip(parts, chosen, strict=True) if attempt.failure
    ]
    if failures:
        return Outcome(document.doc_id, (), "unusable", summary(failures))
    malformed = [problem for attempt in chosen for problem in attempt.answer.problems]
    # Each part is repaired by itself: what is proposed about one half says nothing of the other.
    proposals, broken = list[Proposal](), list[str]()
    for part, attempt in zip(parts, chosen, strict=True):
        own = violations(attempt.answer.proposals, part.size)
        try:
            legal = repair(attempt.answer.proposals, part.size)
        except Unusable as reason:
            found = summary([*malformed, *unhelped, *own])
            return Outcome(document.doc_id, (), "unusable", f"{reason}{_where(part, parts)}; {found}")
        proposals += [_shift(proposal, part.start) for proposal in legal]
        broken += [problem + _where(part, parts) for problem in own]
    return settle(document, proposals, corrected, [*malformed, *unhelped, *broken])


def _where(part: _Part, parts: Sequence[_Part]) -> str:
    """Return which paragraphs of its document a message counts from, where it was asked about in parts."""
    return f" (paragraphs {part.start} to {part.end - 1})" if len(parts) > 1 else ""


def _shift(proposal: Proposal, by: int) -> Proposal:
    return replace(proposal, par_start=proposal.par_start + by, par_end=proposal.par_end + by)

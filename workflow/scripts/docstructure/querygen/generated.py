"""Queries written by a language model about gold spans that the pipeline samples (paper 4.1, F).

Generate, filter for leakage, paraphrase, filter again: the paraphrase is what ships. Then underspecified queries that
name what they should hint at are rejected, repeated queries are dropped, and each type is cut down to the same number.
Every step says what became of each query. A request that fails costs its query and is counted, never scored.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import polars as pl

from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.queries import QUERIES
from docstructure.llm.client import Client
from docstructure.llm.request import Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.llm.templates import render
from docstructure.querygen.leakage import Limits, leak
from docstructure.querygen.naming import common_words, named, names_of
from docstructure.querygen.sampling import TYPES, Draft, Sizes, Source, sample
from docstructure.words import words

MAX_CHARACTERS = 400
FAILED = "failed"

_SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS}},
    "required": ["question"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Options:
    """A language model as writer of queries.

    Parameters
    ----------
    model
        Name in ``definitions.models``.
    types
        Which of `docstructure.querygen.sampling.TYPES`.
    per_document
        Queries of each type that are asked for per document.
    per_type
        Queries of each type that are kept at most (paper: 250), spread over the documents.
    span_min, span_max
        Length of a gold span, in characters: a run of whole sentences of one paragraph.
    section_min
        Least length of a top-level section that a structural query asks for, in characters.
    max_rouge_l, ngram
        Of the leakage filter, as `docstructure.querygen.leakage.Limits` has them (paper: 0.35 and 4).
    structure
        Name of the structure whose top-level sections are meant; the rule reads its sections.
    seed
        Of the sampling and the balancing.
    answer_tokens
        Longest answer, in the model's tokens.
    sampling
        Fields of `docstructure.llm.sampling.Sampling`; greedy by default.
    """

    asks_model: ClassVar[bool] = True

    model: str
    types: Sequence[str] = TYPES
    per_document: int = 3
    per_type: int = 250
    span_min: int = 150
    span_max: int = 600
    section_min: int = 600
    max_rouge_l: float = 0.35
    ngram: int = 4
    structure: str = "gold"
    seed: int = 20260710
    answer_tokens: int = 256
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [type_ for type_ in self.types if type_ not in TYPES]
        if unknown or not self.types or len(set(self.types)) < len(self.types):
            raise ValueError(f"generated: types are {list(self.types)}; each is one of {', '.join(TYPES)}, once")
        for name in ("per_document", "per_type", "answer_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"generated: {name} is {getattr(self, name)}; it is at least 1")
        Sampling(**self.sampling)
        _ = self.sizes, self.limits  # their own checks

    @property
    def sizes(self) -> Sizes:
        """How long gold spans are."""
        return Sizes(self.span_min, self.span_max, self.section_min)

    @property
    def limits(self) -> Limits:
        """What counts as a copy."""
        return Limits(self.max_rouge_l, self.ngram)


@dataclass(frozen=True)
class Written:
    """A query on its way through the funnel."""

    draft: Draft
    text: str = ""


@dataclass(frozen=True)
class Step:
    """What a step kept, and why it did not keep the rest.

    Parameters
    ----------
    name
        Of its funnel file.
    came
        Ids of the queries that came in, in order.
    kept
        Those that went on, in order.
    dropped
        Query id to reason.
    """

    name: str
    came: tuple[str, ...]
    kept: tuple[Written, ...]
    dropped: Mapping[str, str]

    @property
    def n_failed(self) -> int:
        """How many of them the model gave no readable answer for."""
        return sum(reason.startswith(f"{FAILED}:") for reason in self.dropped.values())

    def frame(self) -> pl.DataFrame:
        """Return the step as a funnel file holds it."""
        return FUNNEL.frame(
            {
                "item_id": self.came,
                "kept": [query_id not in self.dropped for query_id in self.came],
                "reason": [self.dropped.get(query_id, "") for query_id in self.came],
            }
        )


@dataclass(frozen=True)
class Generated:
    """The queries of a corpus, by their contract, and the steps on the way to them."""

    queries: pl.DataFrame
    steps: tuple[Step, ...]


def generate(options: Options, sources: Sequence[Source], language: str, *, llm: Mapping[str, Any]) -> Generated:
    """Write the queries of a corpus.

    Parameters
    ----------
    options
        How.
    sources
        The documents that have sections.
    language
        Two-letter code of the corpus.
    llm
        ``models`` (``definitions.models``), ``cache`` (a folder) and ``offline``, as `Client.named` takes them.
    """
    steps = write(options, sources, language, llm=llm)
    naming = _step("naming", steps[-1].kept, _naming(options, common_words(sources), language))
    distinct = _distinct(naming.kept)
    balance = _balance(distinct.kept, options)
    return Generated(_queries(balance.kept), (*steps, naming, distinct, balance))


def write(options: Options, sources: Sequence[Source], language: str, *, llm: Mapping[str, Any]) -> list[Step]:
    """Do the steps in which documents do not know of each other: all that a model is asked for."""
    types = dict.fromkeys(options.types, options.per_document)
    drafts = [draft for source in sources for draft in sample(source, types, options.sizes, language, options.seed)]
    wanted = tuple(Written(draft) for draft in drafts)
    sampling = _step("sampling", wanted, lambda written: written.draft.reason)
    draws = Sampling(**options.sampling)
    with Client.named(options.model, llm["models"], llm["cache"], draws, offline=llm["offline"]) as client:
        generation = _ask("generation", sampling.kept, options, client, _generation)
        leakage = _step("leakage", generation.kept, _leakage(options))
        paraphrase = _ask("paraphrase", leakage.kept, options, client, _paraphrase)
    return [sampling, generation, leakage, paraphrase, _step("paraphrase_leakage", paraphrase.kept, _leakage(options))]


def _step(name: str, written: Sequence[Written], reason: Callable[[Written], str]) -> Step:
    """Drop the queries that there is a reason to drop."""
    reasons = {one.draft.query_id: reason(one) for one in written}
    return Step(
        name,
        tuple(reasons),
        tuple(one for one in written if not reasons[one.draft.query_id]),
        {query_id: why for query_id, why in reasons.items() if why},
    )


def _ask(
    name: str, written: Sequence[Written], options: Options, client: Client, ask: Callable[[Written, Options], Request]
) -> Step:
    """Let the model write each query, or write it anew."""
    requests = [ask(one, options) for one in written]
    results = client.complete(requests)
    # no answer at all: the same request once more
    lost = [request for request in requests if results[request.id].finish_reason == "error"]
    results |= client.complete(lost) if lost else {}
    answers = {one.draft.query_id: read(results[one.draft.query_id]) for one in written}
    return Step(
        name,
        tuple(answers),
        tuple(replace(one, text=text) for one in written if (text := answers[one.draft.query_id][0])),
        {query_id: f"{FAILED}: {problem}" for query_id, (text, problem) in answers.items() if not text},
    )


def _generation(written: Written, options: Options) -> Request:
    draft = written.draft
    messages = render(
        draft.type, title=" ".join(draft.source.title.split()), headings=draft.headings, passages=draft.evidence
    )
    return Request(draft.query_id, messages, options.answer_tokens, _SCHEMA)


def _paraphrase(written: Written, options: Options) -> Request:
    messages = render("paraphrase", type=written.draft.type, question=written.text)
    return Request(written.draft.query_id, messages, options.answer_tokens, _SCHEMA)


def read(result: Result) -> tuple[str, str]:
    """Return the question that an answer holds, in one line, and what is wrong where it holds none."""
    if not result.ok:
        return "", result.problem
    try:
        value = json.loads(result.text)
    except (ValueError, RecursionError) as error:
        return "", f"the answer is not JSON: {str(error)[:80]}"
    question = value.get("question") if isinstance(value, dict) else None
    if not isinstance(question, str):
        return "", "the answer is not an object with a string question"
    # an escape may stand for half of a surrogate pair, which no file takes
    text = " ".join(question.encode("utf-8", "replace").decode("utf-8").split())
    if not words(text):
        return "", "the question has no words"
    if len(text) > MAX_CHARACTERS:
        return "", f"the question has {len(text)} characters, at most {MAX_CHARACTERS} are allowed"
    return text, ""


def _leakage(options: Options) -> Callable[[Written], str]:
    return lambda written: leak(written.text, written.draft.evidence, options.limits)


def _naming(options: Options, common: frozenset[str], language: str) -> Callable[[Written], str]:
    def reason(written: Written) -> str:
        draft = written.draft
        if draft.type != "underspecified":
            return ""
        return named(written.text, names_of(draft.source, draft.evidence, language, common))

    return reason


def _distinct(written: Sequence[Written]) -> Step:
    """Drop a query that asks in the same words as one before it: no ranking could tell them apart."""
    first: dict[tuple[str, ...], str] = {}
    for one in written:
        first.setdefault(tuple(words(one.text)), one.draft.query_id)

    def reason(one: Written) -> str:
        earlier = first[tuple(words(one.text))]
        return "" if earlier == one.draft.query_id else f"repeats: {earlier}"

    return _step("distinct", written, reason)


def _balance(written: Sequence[Written], options: Options) -> Step:
    """Keep at most `per_type` of each type: one of every document before a second of any, in a seeded order."""
    kept: set[str] = set()
    for type_ in options.types:
        rng = random.Random(f"{options.seed}/balance/{type_}")
        own = [one.draft for one in written if one.draft.type == type_]
        rng.shuffle(own)
        seen: dict[str, int] = {}
        turns: list[tuple[int, int]] = []
        for draft in own:
            turns.append((seen.setdefault(draft.source.doc_id, 0), len(turns)))
            seen[draft.source.doc_id] += 1
        kept.update(own[index].query_id for _, index in sorted(turns)[: options.per_type])
    return _step(
        "balance", written, lambda one: "" if one.draft.query_id in kept else f"surplus: {options.per_type} per type"
    )


def _queries(written: Sequence[Written]) -> pl.DataFrame:
    return QUERIES.frame(
        [
            {
                "query_id": one.draft.query_id,
                "doc_id": one.draft.source.doc_id,
                "query": one.text,
                "type": one.draft.type,
                "spans": [{"start": start, "end": end} for start, end in one.draft.spans],
            }
            for one in written
        ]
    )

"""Situating contexts by a language model: whole document and chunk in, a short context out (paper 3.2; Anthropic 2024).

A prompt is instructions, document, chunk, in this order, and the chunks of a document are asked about one after
another: what they share is their beginning, so that an engine's prefix cache reads each document once.

An answer is a JSON object with one string, bounded in length by its schema, so that a model that does not find its end
is stopped. A context has at most `Options.max_tokens` tokens by the study's tokenizer. One that is longer, empty or
declined gets one second try that quotes what is wrong. What is too long even then is cut by rule: after its last whole
sentence that fits, or between words where not one does. A document that does not fit the model's context is halved at
the paragraph start nearest to its middle until it does, and the half shown is the one that holds the chunk's middle. A
chunk that still has no context failed; nothing stands in for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import polars as pl

from docstructure.contracts.contexts import CONTEXTS
from docstructure.llm.client import Client
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.llm.templates import render
from docstructure.sentences import sentence_spans
from docstructure.spans import Span
from docstructure.tokens import Tokenizer

ON_TOO_LONG = ("halve", "fail")
CHARACTERS_PER_TOKEN = 8
"""An answer ends at so many characters per allowed token: far beyond any context that fits."""
BATCH = 4096
"""Requests that are held in memory at once; a document's are never parted."""

_DECLINED = re.compile(
    r"i['’]?m (?:very )?sorry\b|sorry[,.]|i (?:cannot|can['’]?t|can not|am unable|am not able|won['’]?t)\b|as an ai\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Options:
    """A language model as contextualizer.

    Parameters
    ----------
    model
        Name in ``definitions.models``.
    max_tokens
        No context has more, by the study's tokenizer (paper: 80).
    answer_tokens
        Longest answer, in the model's tokens; one that reaches it counts as cut off.
    second_try
        Whether an answer that is too long, empty or declined is sent back once with what is wrong.
    on_too_long
        What becomes of a document whose prompt does not fit: one of `ON_TOO_LONG`.
    prompt
        Name of the template in resources/prompts; its correction is ``{prompt}_correction``.
    sampling
        Fields of `docstructure.llm.sampling.Sampling`; greedy by default.
    """

    asks_model: ClassVar[bool] = True

    model: str
    max_tokens: int = 80
    answer_tokens: int = 256
    second_try: bool = True
    on_too_long: str = "halve"
    prompt: str = "context"
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_tokens", "answer_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"contextualizer llm: {name} is {getattr(self, name)}; it is at least 1")
        if self.on_too_long not in ON_TOO_LONG:
            raise ValueError(
                f"contextualizer llm: on_too_long is {self.on_too_long!r}; it is one of {', '.join(ON_TOO_LONG)}"
            )
        Sampling(**self.sampling)


@dataclass(frozen=True)
class _Document:
    title: str
    text: str
    paragraphs: tuple[Span, ...]


@dataclass(frozen=True)
class _Asked:
    """A chunk and the paragraphs, half-open, of its document that are shown with it."""

    chunk_id: str
    document: _Document
    chunk: Span
    first: int
    last: int

    def prompt(self, options: Options) -> Messages:
        paragraphs = self.document.paragraphs
        return render(
            options.prompt,
            title=" ".join(self.document.title.split()),
            document=self.document.text[paragraphs[self.first][0] : paragraphs[self.last - 1][1]],
            chunk=self.document.text[slice(*self.chunk)].strip(),
            max_tokens=options.max_tokens,
        )

    def halved(self) -> _Asked | None:
        """Show the half that holds the chunk's middle; None where one paragraph is left."""
        if self.last - self.first < 2:
            return None
        paragraphs = self.document.paragraphs
        middle = (paragraphs[self.first][0] + paragraphs[self.last - 1][1]) / 2
        at = min(range(self.first + 1, self.last), key=lambda index: (abs(paragraphs[index][0] - middle), index))
        if sum(self.chunk) / 2 < paragraphs[at][0]:
            return replace(self, last=at)
        return replace(self, first=at)


@dataclass(frozen=True)
class _Try:
    """One answer, read.

    Parameters
    ----------
    context
        The answer in one line; empty where there is none to use.
    problem
        What is wrong with it, as a sentence to the model; empty when nothing is.
    status
        What the chunk's status is if this is the last word.
    may_help
        Whether there is an answer that can be sent back.
    """

    context: str
    problem: str = ""
    status: str = "ok"
    may_help: bool = True


def contextualize(
    options: Options,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    tokenizer: Tokenizer,
    language: str,
    *,
    llm: Mapping[str, Any],
) -> pl.DataFrame:
    """Ask for the context of every chunk.

    Parameters
    ----------
    options
        The contextualizer's options.
    documents, chunks
        By their contracts.
    tokenizer
        The study's tokenizer.
    language
        Two-letter code for the sentence rules.
    llm
        ``models`` (``definitions.models``), ``cache`` (a folder) and ``offline``, as `Client.named` takes them.

    Returns
    -------
    pl.DataFrame
        By the contexts contract, in the order of `chunks`.
    """
    sampling = Sampling(**options.sampling)
    with Client.named(options.model, llm["models"], llm["cache"], sampling, offline=llm["offline"]) as client:
        return contextualize_by(client, options, documents, chunks, tokenizer, language)


def contextualize_by(  # noqa: PLR0917 (as `contextualize`, and the client)
    client: Client,
    options: Options,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    tokenizer: Tokenizer,
    language: str,
) -> pl.DataFrame:
    """Write the context of every chunk by this client's answers."""
    rows = [
        _conclude(asked, first, second, options, tokenizer, language)
        for batch in _batches(documents, chunks)
        for asked, first, second in _tries(client, options, batch, tokenizer)
    ]
    frame = CONTEXTS.frame(rows)
    return chunks.select("chunk_id").join(frame, on="chunk_id", how="left", maintain_order="left")


def _batches(documents: pl.DataFrame, chunks: pl.DataFrame) -> Iterator[list[_Asked]]:
    """Yield the chunks of whole documents together, documents in the order of `chunks`, chunks in that of the text."""
    found = {
        doc_id: _Document(title, text, tuple((span["start"], span["end"]) for span in paragraphs))
        for doc_id, title, text, paragraphs in documents.select("doc_id", "title", "text", "paragraphs").iter_rows()
    }
    batch: list[_Asked] = []
    for (doc_id,), own in chunks.group_by("doc_id", maintain_order=True):
        document = found.get(str(doc_id))
        if document is None:
            raise ValueError(f"document {doc_id} of the chunks is not in documents")
        batch += [
            _Asked(chunk_id, document, (start, end), 0, len(document.paragraphs))
            for chunk_id, start, end in own.sort("start", "end").select("chunk_id", "start", "end").iter_rows()
        ]
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _tries(
    client: Client, options: Options, batch: Sequence[_Asked], tokenizer: Tokenizer
) -> Iterator[tuple[_Asked, _Try, _Try | None]]:
    """Yield each chunk with its first answer and, where there was need, its second."""
    shown, results = _ask(client, options, batch)
    firsts = {chunk_id: _read(result, options, tokenizer) for chunk_id, result in results.items()}
    again = [
        asked
        for asked in shown
        if options.second_try and firsts[asked.chunk_id].problem and firsts[asked.chunk_id].may_help
    ]
    requests = [
        _request(asked, _correction(asked, options, results[asked.chunk_id], firsts[asked.chunk_id]), options)
        for asked in again
    ]
    answers = client.complete(requests) if requests else {}
    seconds = {chunk_id: _read(result, options, tokenizer) for chunk_id, result in answers.items()}
    for asked in shown:
        yield asked, firsts[asked.chunk_id], seconds.get(asked.chunk_id)


def _ask(client: Client, options: Options, batch: Sequence[_Asked]) -> tuple[list[_Asked], dict[str, Result]]:
    """Ask about every chunk, with less of its document while the prompt does not fit; keep the order."""
    shown = {asked.chunk_id: asked for asked in batch}
    results: dict[str, Result] = {}
    open_ = list(batch)
    while open_:
        requests = [_request(asked, asked.prompt(options), options) for asked in open_]
        answers = client.complete(requests)
        # no answer at all is no answer to correct: the same request once more
        lost = [request for request in requests if answers[request.id].finish_reason == "error"]
        answers |= client.complete(lost) if lost else {}
        results |= answers
        too_long = [asked for asked in open_ if answers[asked.chunk_id].finish_reason == "too_long"]
        halves = [asked.halved() for asked in too_long] if options.on_too_long == "halve" else []
        open_ = [half for half in halves if half is not None]
        shown |= {asked.chunk_id: asked for asked in open_}
    return list(shown.values()), results


def _request(asked: _Asked, messages: Messages, options: Options) -> Request:
    context = {"type": "string", "minLength": 1, "maxLength": CHARACTERS_PER_TOKEN * options.max_tokens}
    schema = {
        "type": "object",
        "properties": {"context": context},
        "required": ["context"],
        "additionalProperties": False,
    }
    return Request(asked.chunk_id, messages, options.answer_tokens, schema)


def _read(result: Result, options: Options, tokenizer: Tokenizer) -> _Try:
    if result.finish_reason == "length":
        return _Try("", f"Your answer was cut off after {options.answer_tokens} tokens.", "failed")
    if not result.ok:
        return _Try("", result.problem, "failed", may_help=result.finish_reason == "refused")
    text = _string(result.text)
    if text is None:
        return _Try("", 'Your answer is not a JSON object {"context": "..."}.', "failed")
    return _judge(text, options, tokenizer)


def _judge(text: str, options: Options, tokenizer: Tokenizer) -> _Try:
    context = " ".join(text.split())
    n_tokens = tokenizer.count(context)
    if not n_tokens:
        return _Try("", "Your answer was empty.", "empty")
    if _DECLINED.match(context):
        return _Try("", f"Your answer declines: {context[:80]}", "failed")
    # at the schema's limit it is not whole, whatever its tokens are
    if n_tokens > options.max_tokens or len(text) >= CHARACTERS_PER_TOKEN * options.max_tokens:
        return _Try(context, f"Your answer has {n_tokens} tokens; at most {options.max_tokens} are allowed.", "cut")
    return _Try(context)


def _string(answer: str) -> str | None:
    """Return the context that an answer holds; None where it is not written as asked."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    context = value.get("context") if isinstance(value, dict) else None
    # an escape may stand for half of a surrogate pair, which no file takes
    return context.encode("utf-8", "replace").decode("utf-8") if isinstance(context, str) else None


def _correction(asked: _Asked, options: Options, result: Result, first: _Try) -> Messages:
    quoted = render(f"{options.prompt}_correction", problem=first.problem, max_tokens=options.max_tokens)
    return (*asked.prompt(options), ("assistant", result.text.strip() or "(nothing)"), *quoted)


def _conclude(  # noqa: PLR0917 (two answers, and how they are read)
    asked: _Asked, first: _Try, second: _Try | None, options: Options, tokenizer: Tokenizer, language: str
) -> dict[str, Any]:
    """Return a chunk's row: its second answer where that is of use, else its first."""
    last = second if second is not None and (second.context or not first.context) else first
    problems = [first.problem, *([] if second is None or not second.problem else [second.problem])]
    reason = [problem for problem in problems if problem]
    whole = asked.last - asked.first == len(asked.document.paragraphs)
    if not whole:
        reason.append(f"shown with paragraphs {asked.first} to {asked.last - 1} of its document, which is too long")
    context, status = last.context, last.status
    if status == "cut":
        context = shorten(context, options.max_tokens, tokenizer, language)
    elif status == "ok" and last is second:
        status = "corrected"
    return {
        "chunk_id": asked.chunk_id,
        "context": context,
        "n_tokens": tokenizer.count(context),
        "status": status,
        "reason": " ".join(reason),
    }


def shorten(context: str, limit: int, tokenizer: Tokenizer, language: str) -> str:
    """Cut a context after its last whole sentence that fits in `limit` tokens, or between words where none does."""
    for _, end in reversed(sentence_spans(context, language)):
        whole = context[:end].strip()
        if tokenizer.count(whole) <= limit:
            return whole
    return tokenizer.head(context, limit).strip()

"""Stand-in for the LLM's contexts: a document's title and first sentences, the same for each of its chunks.

It situates a chunk in its document but not inside it, and writes nothing new. A cell whose A1 rests on it says nothing
about generated contexts; it lets the workflow run where no LLM can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from docstructure.contracts.contexts import CONTEXTS
from docstructure.sentences import sentence_spans
from docstructure.spans import Span
from docstructure.tokens import Tokenizer


@dataclass(frozen=True)
class Options:
    """The length of a context.

    Parameters
    ----------
    max_tokens
        No context has more, by the study's tokenizer (paper: 80).
    """

    max_tokens: int = 80

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"contextualizer lead: max_tokens is {self.max_tokens}; it must be at least 1")


def contextualize(
    options: Options, documents: pl.DataFrame, chunks: pl.DataFrame, tokenizer: Tokenizer, language: str
) -> pl.DataFrame:
    """Give every chunk its document's lead.

    Parameters
    ----------
    options
        The length of a context.
    documents, chunks
        By their contracts.
    tokenizer
        The study's tokenizer.
    language
        Two-letter code for the sentence rules.

    Returns
    -------
    pl.DataFrame
        By the contexts contract, in the order of `chunks`. The status is ``empty`` where neither title nor text has a
        token.
    """
    doc_ids = chunks["doc_id"].unique(maintain_order=True)
    rows = documents.filter(pl.col("doc_id").is_in(doc_ids.implode())).select("doc_id", "title", "text", "paragraphs")
    leads = {
        doc_id: lead(
            title, text, [(span["start"], span["end"]) for span in paragraphs], options.max_tokens, tokenizer, language
        )
        for doc_id, title, text, paragraphs in rows.iter_rows()
    }
    counts = dict(zip(leads, tokenizer.counts(list(leads.values())).tolist(), strict=True))
    contexts = [leads[doc_id] if counts[doc_id] else "" for doc_id in chunks["doc_id"]]
    return CONTEXTS.frame(
        {
            "chunk_id": chunks["chunk_id"],
            "context": contexts,
            "n_tokens": [counts[doc_id] for doc_id in chunks["doc_id"]],
            "status": ["ok" if context else "empty" for context in contexts],
            "reason": ["" if context else "neither title nor text has a token" for context in contexts],
        }
    )


def lead(  # noqa: PLR0917 (all of them are the document)
    title: str, text: str, paragraphs: Sequence[Span], max_tokens: int, tokenizer: Tokenizer, language: str
) -> str:
    """Return a document's title and as many whole first sentences as fit, white space collapsed.

    Where not even the first sentence fits, it is cut between words; a title that does not fit is cut likewise.
    """
    title = _collapse(title)
    start = title if not title or title[-1] in ".!?" else f"{title}."
    best = tokenizer.head(start, max_tokens)
    if best != start:
        return best.strip()
    whole = start
    for left, right in _sentences(text, paragraphs, language):
        longer = f"{whole} {_collapse(text[left:right])}".strip()
        if tokenizer.count(longer) > max_tokens:
            return whole if whole != start else tokenizer.head(longer, max_tokens).strip()
        whole = longer
    return whole


def _sentences(text: str, paragraphs: Sequence[Span], language: str) -> Iterator[Span]:
    for start, end in paragraphs:
        yield from sentence_spans(text, language, start, end)


def _collapse(text: str) -> str:
    return " ".join(text.split())

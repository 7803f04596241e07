"""A document measured once: where its tokens and sentences are, and how many tokens any slice of it has (paper 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from docstructure.sentences import sentence_spans
from docstructure.spans import Span
from docstructure.tokens import Tokenizer, Tokens

DOCUMENTS_PER_BATCH = 64

# White space at which every WordPiece pre-tokenizer ends a word. Narrower than str.isspace(): control characters such
# as U+0085 are deleted by BERT's normalizer, so that they join two words instead of parting them.
SPACES = frozenset(" \t\n\r\u00a0\u3000")


@dataclass(frozen=True)
class Ruler:
    """The tokens and sentences of one document, tokenized once.

    Parameters
    ----------
    text
        The document's text.
    tokens
        Its tokens.
    sentences
        Position of every sentence start, in characters, ascending, from 0; paragraph starts are sentence starts.
    tokenizer
        Counts the few slices whose edges lie inside a word.
    """

    text: str
    tokens: Tokens
    sentences: tuple[int, ...]
    tokenizer: Tokenizer
    _ranks: dict[int, int] = field(init=False, repr=False, default_factory=dict)
    _counted: dict[Span, int] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        marks = np.searchsorted(self.tokens.starts, self.sentences, side="left")
        self._ranks.update(zip(self.sentences, marks.tolist(), strict=True))

    def rank(self, position: int) -> int:
        """Return how many tokens of the document begin before a character."""
        known = self._ranks.get(position)
        if known is None:
            known = self._ranks[position] = int(np.searchsorted(self.tokens.starts, position, side="left"))
        return known

    def start_of(self, token: int) -> int:
        """Return the first character of a token."""
        return int(self.tokens.starts[token])

    def between_words(self, position: int) -> bool:
        """Return whether a cut there leaves every word whole, so that slices keep the document's tokens."""
        inside = 0 < position < len(self.text)
        return not inside or self.text[position - 1] in SPACES or self.text[position] in SPACES

    def count(self, start: int, end: int) -> int:
        """Return the tokens of the slice ``text[start:end]``, as the tokenizer counts it on its own.

        Between words this is the number of the document's tokens in the slice. A cut inside a word, between
        characters of a script without spaces or beside punctuation can change the tokens on both sides (``un|able``),
        so such slices are tokenized again.
        """
        if self.between_words(start) and self.between_words(end):
            return self.rank(end) - self.rank(start)
        known = self._counted.get((start, end))
        if known is None:
            known = self._counted[(start, end)] = self.tokenizer.count(self.text[start:end])
        return known


def measure(
    texts: Sequence[str], paragraphs: Sequence[Sequence[Span]], tokenizer: Tokenizer, language: str
) -> Iterator[Ruler]:
    """Measure documents, in order.

    Parameters
    ----------
    texts
        Text of each document.
    paragraphs
        Its paragraphs, in characters.
    tokenizer
        The study's tokenizer.
    language
        Two-letter code for the sentence rules.
    """
    for low in range(0, len(texts), DOCUMENTS_PER_BATCH):
        batch = texts[low : low + DOCUMENTS_PER_BATCH]
        tables = paragraphs[low : low + DOCUMENTS_PER_BATCH]
        for text, table, tokens in zip(batch, tables, tokenizer.locate(batch), strict=True):
            yield Ruler(text, tokens, sentence_starts(text, table, language), tokenizer)


def sentence_starts(text: str, paragraphs: Sequence[Span], language: str) -> tuple[int, ...]:
    """Return the first character of every sentence; a paragraph always begins one.

    White space, blank lines and empty paragraphs included, belongs to the sentence before it.
    """
    edges = sorted({0, *(start for start, _ in paragraphs if start < len(text)), len(text)})
    starts = [0]
    for low, high in pairwise(edges):
        for left, right in sentence_spans(text, language, low, high):
            visible = right - len(text[left:right].lstrip())
            if starts[-1] < visible < right:
                starts.append(visible)
    return tuple(starts)

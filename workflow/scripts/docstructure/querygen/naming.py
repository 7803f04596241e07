"""Does an underspecified query name what it must only hint at (paper F: "the commander", never the proper name)?

Two kinds of names are looked for in a query:

- words of the document's title: those of more than three letters (a title of shorter words only counts as a whole),
  save words that half of the corpus's documents use;
- proper names of the span: words that it writes with a capital elsewhere than at a sentence's start, or at one when the
  document does so elsewhere. Where the document writes the word small as well (Will, will), it must have a capital in
  the query too.

A word also stands for itself with up to two letters more or less at its end (plurals, cases). German and Luxembourgish
write every noun with a capital, and scripts without capitals show no names: there the title is all that is looked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docstructure.querygen.sampling import Source
from docstructure.sentences import sentence_spans
from docstructure.words import words

MIN_TITLE_LETTERS = 4
MIN_CORPUS = 10
COMMON_SHARE = 0.5
ENDING = 2
NOUNS_HAVE_CAPITALS = ("de", "lb")

_WORD = re.compile(r"[^\W\d_]+")
_OPENING = re.compile(r"[\"'“”„«»‘(\[:;–—]\s*$")


@dataclass(frozen=True)
class Names:
    """What a query must not say, folded.

    Parameters
    ----------
    title
        The title's words, in order.
    title_words
        Those of them that name.
    always
        Proper names.
    capital
        Proper names that are other words when written small.
    """

    title: tuple[str, ...]
    title_words: frozenset[str]
    always: frozenset[str]
    capital: frozenset[str]


def common_words(sources: Iterable[Source]) -> frozenset[str]:
    """Return the words that half of the documents use; none where there are few documents."""
    counts: Counter[str] = Counter()
    n_documents = 0
    for source in sources:
        counts.update(set(words(source.text)))
        n_documents += 1
    if n_documents < MIN_CORPUS:
        return frozenset()
    return frozenset(word for word, n in counts.items() if n >= COMMON_SHARE * n_documents)


def names_of(source: Source, spans: Sequence[str], language: str, common: frozenset[str]) -> Names:
    """Return what an underspecified query on these spans must not say.

    Parameters
    ----------
    source
        The document.
    spans
        The text of each gold span.
    language
        Two-letter code of the corpus.
    common
        Of `common_words`.
    """
    title = tuple(words(source.title))
    naming = frozenset(word for word in title if len(word) >= MIN_TITLE_LETTERS and word not in common)
    if language in NOUNS_HAVE_CAPITALS:
        return Names(title, naming, frozenset(), frozenset())
    inside, _ = _capitals(source.text, language)
    small = {word for match in _WORD.finditer(source.text) if match[0][0].islower() for word in words(match[0])}
    proper: set[str] = set()
    for span in spans:
        own_inside, own_first = _capitals(span, language)
        proper |= own_inside | (own_first & inside)
    return Names(title, naming, frozenset(proper - small), frozenset(proper & small))


def named(query: str, names: Names) -> str:
    """Return which name a query says, with its kind; empty when it says none."""
    asked = words(query)
    n = len(names.title)
    if n and any(tuple(asked[index : index + n]) == names.title for index in range(len(asked) - n + 1)):
        return f"title: {' '.join(names.title)}"
    for word in asked:
        if any(_same(word, name) for name in names.title_words):
            return f"title: {word}"
        if any(_same(word, name) for name in names.always):
            return f"proper name: {word}"
    matches = list(_WORD.finditer(query))
    for match in matches[1:]:
        if match[0][0].isupper() and set(words(match[0])) & names.capital:
            return f"proper name: {match[0]}"
    return ""


def _same(word: str, name: str) -> bool:
    if word == name:
        return True
    short, long = sorted((word, name), key=len)
    return len(short) >= MIN_TITLE_LETTERS and len(long) - len(short) <= ENDING and long.startswith(short)


def _capitals(text: str, language: str) -> tuple[set[str], set[str]]:
    """Return the words with a capital, folded: those inside sentences, and those that begin one."""
    inside: set[str] = set()
    first: set[str] = set()
    for start, end in sentence_spans(text, language):
        begins = True
        for match in _WORD.finditer(text, start, end):
            if match[0][0].isupper():
                opens = begins or _OPENING.search(text, max(start, match.start() - 4), match.start()) is not None
                (first if opens else inside).update(words(match[0]))
            begins = False
    return inside, first

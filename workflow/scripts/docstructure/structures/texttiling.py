"""Sections by lexical cohesion (Hearst 1997), from paragraphs alone: no headings, no model, no randomness.

At every gap between two paragraphs the words of the block before are compared with those of the block after. Where the
similarity dips below the peaks around it, the vocabulary changes and a section begins. Long sections are divided in the
same way into subsections. Titles are the terms that set a section apart from the others of its document.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.structures.outcome import Flat, Outcome, settle
from docstructure.tree import Proposal

STEM = 6
"""Characters of a word that count: a stemmer for every alphabetic language, and none for any."""
DECIMALS = 9
"""Similarities are rounded to this, so that ties do not depend on the order in which a machine adds."""

Range = tuple[int, int]
"""Paragraphs, half-open."""

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+|\b[^\W\d_]+(?:-[^\W\d_]+)*")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")

# Function words, general verbs and adverbs, numerals and units.
_ENGLISH = """
a about above after again against all almost along already also although always among an and another any are around
as at away back be became because become been before began behind being below best better between both but by called
came can cannot celsius centimetre centimetres centuries century come could days degrees did do does done down due
during each early eight eighteenth eighty either eleven else enough even ever every few fifteenth fifty find first
five for form forty found four fourth from further gave get give given goes good grams great had half has have
having he held help hence her here hers high him his hours how however hundred hundreds i if in indeed instead into
is it its itself just kept kilograms kilometre kilometres know known large last late later least left less like
likely litres little long look low made main make makes making many may me metre metres might million millions
minutes months more most much must my near nearly need never new next nine nineteenth ninety no nor not now number
of off often old on once one only onto or other others our out over own part parts per percent perhaps place put
quite rather same second see seem seen seven seventeenth seventy several shall she short should show since six
sixteenth sixty small so some soon still such take taken ten than that the their them then there these they thing
things third thirty this those though thousand thousands three through thus time times to together tonnes too took
toward towards twelve twentieth twenty two under until up upon us use used uses using usual usually very was way
ways we weeks well went were what when where whether which while who whole whom whose why will with within without
work would year years yet you your
"""
STOP_WORDS = {"en": frozenset(_ENGLISH.split())}


@dataclass(frozen=True)
class Options:
    """How finely cohesion is read.

    Parameters
    ----------
    block_words
        Words on either side of a gap that are compared; whole paragraphs, at least one.
    cutoff
        A gap may be a boundary where its depth exceeds mean + cutoff · standard deviation of the document's depths.
        Hearst's liberal and conservative choices are -1 and -0.5.
    section_words
        Fewest words of a section.
    long_words
        A section with more words is divided into subsections where it can be.
    subsection_words
        Fewest words of a subsection.
    title_words
        Terms of a title.
    """

    block_words: int = 120
    cutoff: float = -0.5
    section_words: int = 160
    long_words: int = 240
    subsection_words: int = 80
    title_words: int = 3

    reads_headings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for key in ("block_words", "section_words", "long_words", "subsection_words", "title_words"):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"structure texttiling: {key} is {value!r}; it must be a whole number of at least 1")
        if isinstance(self.cutoff, bool) or not isinstance(self.cutoff, int | float) or not math.isfinite(self.cutoff):
            raise ValueError(f"structure texttiling: cutoff is {self.cutoff!r}; it must be a finite number")
        if self.subsection_words > self.section_words:
            raise ValueError(
                f"structure texttiling: subsection_words is {self.subsection_words}; "
                f"it must be at most section_words, {self.section_words}"
            )


def induce(
    options: Options, documents: Sequence[Flat], headings: pl.DataFrame | None, language: str
) -> Iterator[Outcome]:
    """Yield the outcome of each document, in order; the headings are not read."""
    del headings
    stop_words = STOP_WORDS.get(language, frozenset())
    for document in documents:
        yield settle(document, propose(document.paragraph_texts, options, stop_words))


@dataclass(frozen=True)
class _Document:
    """What is read of the paragraphs: their text, words, counted terms (in each and in all), and term weights."""

    paragraphs: Sequence[str]
    words: Sequence[Sequence[str]]
    terms: Sequence[Counter[str]]
    total: Counter[str]
    vectors: Sequence[Mapping[str, float]]

    def n_words(self, start: int, end: int) -> int:
        """Return the words of paragraphs ``[start, end)``."""
        return sum(len(words) for words in self.words[start:end])


def _read(paragraphs: Sequence[str], stop_words: frozenset[str]) -> _Document:
    texts = [_words(paragraph) for paragraph in paragraphs]
    terms = [Counter(_stem(word) for word in words if _tells(word, stop_words)) for words in texts]
    return _Document(paragraphs, texts, terms, _total(terms), _weigh(terms))


def propose(paragraphs: Sequence[str], options: Options, stop_words: frozenset[str] = frozenset()) -> list[Proposal]:
    """Return the sections of a document: level 1, and level 2 inside long ones.

    A divided section is a heading directly above its first subsection, so that every part has a path of depth 2.
    """
    document = _read(paragraphs, stop_words)
    tops = _divide(document, (0, len(paragraphs)), options.section_words, options)
    proposals = []
    for top, name in zip(tops, _titles(document, tops, options.title_words), strict=True):
        parts = [top]
        if document.n_words(*top) > options.long_words:
            parts = _divide(document, top, options.subsection_words, options)
        if len(parts) == 1:
            proposals.append(Proposal(name, 1, *top))
            continue
        proposals.append(Proposal(name, 1, top[0], top[0]))
        titles = _titles(document, parts, options.title_words, above=name)
        proposals += [Proposal(title, 2, *part) for title, part in zip(titles, parts, strict=True)]
    return proposals


def _words(text: str) -> list[str]:
    """Return the words of a text; scripts without spaces give pairs of characters."""
    words: list[str] = []
    for run in WORD.findall(text):
        if UNSPACED.fullmatch(run) and len(run) > 2:
            words += [run[index : index + 2] for index in range(len(run) - 1)]
        else:
            words.append(run)
    return words


def _tells(word: str, stop_words: frozenset[str]) -> bool:
    """Return whether a word is a term: no stop word and no single letter (one character of Han or kana is a word)."""
    return word.casefold() not in stop_words and (len(word) > 1 or UNSPACED.match(word) is not None)


def _stem(word: str) -> str:
    return word.casefold()[:STEM]


def _weigh(terms: Sequence[Counter[str]]) -> list[dict[str, float]]:
    """Weigh each paragraph's terms: damped count times inverse paragraph frequency; a term of every paragraph is 0."""
    present = Counter(term for counts in terms for term in counts)
    rarity = {term: math.log(len(terms) / count) for term, count in present.items()}
    return [{term: math.sqrt(count) * rarity[term] for term, count in counts.items()} for counts in terms]


def _divide(document: _Document, part: Range, fewest: int, options: Options) -> list[Range]:
    """Divide a range of paragraphs at its deepest gaps, ties by position, while both sides keep the fewest words."""
    start, end = part
    depths = np.round(_depths(_similarities(document, part, options.block_words)), DECIMALS)
    limit = depths.mean() + options.cutoff * depths.std() if depths.size else 0.0
    edges = [start, end]
    for gap in np.lexsort((np.arange(depths.size), -depths)):
        if depths[gap] <= 0 or depths[gap] < limit:
            break
        at = start + int(gap) + 1
        place = bisect(edges, at)
        if min(document.n_words(edges[place - 1], at), document.n_words(at, edges[place])) >= fewest:
            edges.insert(place, at)
    return list(pairwise(edges))


def _similarities(document: _Document, part: Range, block_words: int) -> NDArray[np.float64]:
    """Return the cosine of the blocks on either side of each inner gap; 0 where a block has no terms."""
    start, end = part
    cosines = np.zeros(max(0, end - start - 1))
    for index in range(cosines.size):
        gap = start + index + 1
        before = _block(document, range(gap - 1, start - 1, -1), block_words)
        after = _block(document, range(gap, end), block_words)
        norm = math.sqrt(math.fsum(v * v for v in before.values()) * math.fsum(v * v for v in after.values()))
        if norm > 0:
            cosines[index] = math.fsum(before[term] * after[term] for term in before.keys() & after.keys()) / norm
    return np.round(cosines, DECIMALS)


def _block(document: _Document, paragraphs: range, block_words: int) -> dict[str, float]:
    """Sum the vectors of the nearest paragraphs until `block_words` words are reached."""
    total: dict[str, float] = {}
    words = 0
    for paragraph in paragraphs:
        for term, value in document.vectors[paragraph].items():
            total[term] = total.get(term, 0.0) + value
        words += len(document.words[paragraph])
        if words >= block_words:
            break
    return total


def _depths(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each gap lies below the nearest peak on its left plus that on its right (Hearst 1997)."""
    depths = np.zeros(similarity.size)
    for gap, value in enumerate(similarity):
        for side in (similarity[gap::-1], similarity[gap:]):
            peak = value
            for neighbour in side[1:]:
                if neighbour < peak:
                    break
                peak = neighbour
            depths[gap] += peak - value
    return depths


def _titles(document: _Document, parts: Sequence[Range], title_words: int, above: str = "") -> list[str]:
    """Return a title for each part: its key terms against the other parts of the document, ``Keyword, keyword``.

    A term weighs its count times its inverse part frequency; ties go to the term that comes first. Terms of the title
    `above` are passed over, and a part without terms is named by its first words.
    """
    counts = [_total(document.terms[slice(*part)]) for part in parts]
    inside = _total(counts)
    spread = Counter(term for count in counts for term in count)
    spread.update(term for term, count in inside.items() if document.total[term] > count)
    passed = {_stem(word) for word in _words(above)}
    titles: list[str] = []
    for part, count in zip(parts, counts, strict=True):
        weights = {
            term: n * math.log((len(parts) + 1) / spread[term]) for term, n in count.items() if term not in passed
        }
        forms = _forms(document.words[slice(*part)])
        ranked = sorted(weights, key=lambda term: (-round(weights[term], DECIMALS), forms[term][1]))
        title = ", ".join(forms[term][0] for term in ranked[:title_words])
        title = title or " ".join(" ".join(document.paragraphs[slice(*part)]).split()[:title_words])
        titles.append(title[:1].upper() + title[1:])
    return titles


def _total(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _forms(texts: Iterable[Sequence[str]]) -> dict[str, tuple[str, int]]:
    """Return for each term its most frequent form (ties: the first) and the position of its first word."""
    forms: dict[str, Counter[str]] = {}
    first: dict[str, int] = {}
    for position, word in enumerate(word for text in texts for word in text):
        term = _stem(word)
        forms.setdefault(term, Counter())[word] += 1
        first.setdefault(term, position)
    return {term: (counter.most_common(1)[0][0], first[term]) for term, counter in forms.items()}

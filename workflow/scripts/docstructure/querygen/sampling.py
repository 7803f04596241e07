"""Gold spans, sampled by the pipeline from documents and the author's sections (paper 4.1, F).

What is drawn of a document depends on the seed and that document alone, so that shards and other documents change
nothing. The model that writes the queries has no say in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from docstructure.sentences import sentence_spans
from docstructure.spans import Span

TYPES = ("factoid", "underspecified", "multihop", "structural")


@dataclass(frozen=True)
class Sizes:
    """How long gold spans are, in characters.

    Parameters
    ----------
    span_min, span_max
        Of a span: a run of whole sentences of one paragraph.
    section_min
        Of a whole top-level section.
    """

    span_min: int = 150
    span_max: int = 600
    section_min: int = 600

    def __post_init__(self) -> None:
        if not 1 <= self.span_min <= self.span_max:
            raise ValueError(f"span_min and span_max are {self.span_min} and {self.span_max}; at least 1 and in order")
        if self.section_min < 1:
            raise ValueError(f"section_min is {self.section_min}; it is at least 1")


@dataclass(frozen=True)
class TopSection:
    """A top-level section with all below it: heading ('' for text before any), paragraphs ``[par_start, par_end)``."""

    title: str
    par_start: int
    par_end: int


@dataclass(frozen=True)
class Source:
    """A document as queries are made from it.

    Parameters
    ----------
    paragraphs
        Span of each paragraph in the text.
    sections
        Its top-level sections, in order.
    """

    doc_id: str
    title: str
    text: str
    paragraphs: tuple[Span, ...]
    sections: tuple[TopSection, ...]


@dataclass(frozen=True)
class Draft:
    """A query to be: what it is to ask for.

    Parameters
    ----------
    query_id
        ``{doc_id}:{type}:{number from 1}``.
    spans
        Its gold evidence, sorted; none where the document does not have what its type needs.
    headings
        Top-level heading of each span.
    reason
        Why there is no evidence; empty where there is.
    """

    query_id: str
    source: Source
    type: str
    spans: tuple[Span, ...]
    headings: tuple[str, ...] = ()
    reason: str = ""

    @property
    def evidence(self) -> list[str]:
        """The text of each span."""
        return [self.source.text[slice(*span)] for span in self.spans]


def top_sections(paths: Sequence[Sequence[str]], levels: Sequence[int], bounds: Sequence[Span]) -> list[TopSection]:
    """Join the sections of one document, in order, into top-level ones.

    One begins at a section of level 1, and also where the first title changes, since a heading without text of its own
    has no row. `bounds` are paragraph ranges.
    """
    found: list[TopSection] = []
    for index, (path, level, (start, end)) in enumerate(zip(paths, levels, bounds, strict=True)):
        title = path[0] if path else ""
        if index and level != 1 and title == found[-1].title:
            found[-1] = TopSection(title, found[-1].par_start, end)
        else:
            found.append(TopSection(title, start, end))
    return found


def sample(source: Source, types: Mapping[str, int], sizes: Sizes, language: str, seed: int) -> list[Draft]:
    """Draw the evidence of each query of a document.

    Parameters
    ----------
    source
        The document.
    types
        Query type to number of queries.
    sizes
        How long spans are.
    language
        Two-letter code for the sentence rules.
    seed
        Of the study.

    Returns
    -------
    list of Draft
        As many as asked for, by type; where the document has not enough, the rest have no evidence but a reason.
    """
    drafts: list[Draft] = []
    runs = _Runs(source, sizes, language)
    for type_, n_wanted in types.items():
        rng = random.Random(f"{seed}/{source.doc_id}/{type_}")
        draws = _SAMPLERS[type_](source, runs, sizes, rng)
        for number in range(1, n_wanted + 1):
            query_id = f"{source.doc_id}:{type_}:{number}"
            drawn = next(draws, None)
            if drawn is None:
                reason = f"sampling: {_NEEDS[type_]}, found {number - 1} times"
                drafts.append(Draft(query_id, source, type_, (), (), reason))
            else:
                spans, headings = drawn
                drafts.append(Draft(query_id, source, type_, spans, headings))
    return drafts


_Drawn = tuple[tuple[Span, ...], tuple[str, ...]]

_NEEDS = {
    "factoid": "a paragraph with a run of sentences of the right length",
    "underspecified": "a paragraph with a run of sentences of the right length",
    "multihop": "two top-level sections with such a paragraph each",
    "structural": "a titled top-level section, one of several, that is long enough",
}


class _Runs:
    """Runs of whole sentences inside paragraphs."""

    def __init__(self, source: Source, sizes: Sizes, language: str) -> None:
        self._source, self._sizes, self._language = source, sizes, language
        self._known: dict[int, list[Span]] = {}

    def of(self, paragraph: int) -> list[Span]:
        """Return the runs of a paragraph that have the right length, white space around them left out."""
        if paragraph not in self._known:
            text, (start, end) = self._source.text, self._source.paragraphs[paragraph]
            sentences = [_stripped(text, span) for span in sentence_spans(text, self._language, start, end)]
            self._known[paragraph] = list(self._within(sentences))
        return self._known[paragraph]

    def _within(self, sentences: Sequence[Span]) -> Iterator[Span]:
        for first, (start, _) in enumerate(sentences):
            for _, end in sentences[first:]:
                if end - start > self._sizes.span_max:
                    break
                if end - start >= self._sizes.span_min:
                    yield (start, end)

    def usable(self, paragraphs: range) -> list[int]:
        """Return the paragraphs that have such a run."""
        return [paragraph for paragraph in paragraphs if self.of(paragraph)]


def _stripped(text: str, span: Span) -> Span:
    whole = text[slice(*span)]
    start = span[0] + len(whole) - len(whole.lstrip())
    return (start, max(start, span[0] + len(whole.rstrip())))


def _draw_spans(source: Source, runs: _Runs, sizes: Sizes, rng: random.Random) -> Iterator[_Drawn]:
    """Yield one span of one paragraph after another, no paragraph twice."""
    heading = {
        paragraph: section.title
        for section in source.sections
        for paragraph in range(section.par_start, section.par_end)
    }
    paragraphs = runs.usable(range(len(source.paragraphs)))
    rng.shuffle(paragraphs)
    for paragraph in paragraphs:
        yield (rng.choice(runs.of(paragraph)),), (heading.get(paragraph, ""),)


def _draw_pairs(source: Source, runs: _Runs, sizes: Sizes, rng: random.Random) -> Iterator[_Drawn]:
    """Yield a span of each of two titled top-level sections, no two sections twice."""
    usable = {section: found for section in _titled(source) if (found := runs.usable(_paragraphs(section)))}
    pairs = [(a, b) for index, a in enumerate(usable) for b in list(usable)[index + 1 :]]
    rng.shuffle(pairs)
    for pair in pairs:
        spans = tuple(rng.choice(runs.of(rng.choice(usable[section]))) for section in pair)
        yield spans, (pair[0].title, pair[1].title)


def _draw_sections(source: Source, runs: _Runs, sizes: Sizes, rng: random.Random) -> Iterator[_Drawn]:
    """Yield one whole titled top-level section after another; none where there is only one, which is the document."""
    titled = _titled(source)
    spans = {section: _whole(source, section) for section in titled}
    sections = [section for section in titled if spans[section][1] - spans[section][0] >= sizes.section_min]
    rng.shuffle(sections)
    for section in sections if len(titled) > 1 else []:
        yield (spans[section],), (section.title,)


_SAMPLERS: Mapping[str, Callable[[Source, _Runs, Sizes, random.Random], Iterator[_Drawn]]] = {
    "factoid": _draw_spans,
    "underspecified": _draw_spans,
    "multihop": _draw_pairs,
    "structural": _draw_sections,
}


def _titled(source: Source) -> list[TopSection]:
    return [section for section in source.sections if section.title]


def _paragraphs(section: TopSection) -> range:
    return range(section.par_start, section.par_end)


def _whole(source: Source, section: TopSection) -> Span:
    span = (source.paragraphs[section.par_start][0], source.paragraphs[section.par_end - 1][1])
    return _stripped(source.text, span)

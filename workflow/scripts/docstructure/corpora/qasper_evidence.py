"""QASPER evidence strings to character spans: exact, then fuzzy, then section (paper 4.2, appendix G).

Evidence is published as text, not as positions, so it has to be looked up among the paragraphs of its paper. A match is
always a whole paragraph, or a whole section, whose place is known from when the document was put together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from docstructure.corpora.corpus import Document
from docstructure.spans import Span

FLOAT = "FLOAT SELECTED"
NESTING = ":::"
SHORTEST_PART = 40


@dataclass(frozen=True)
class Matching:
    """How evidence strings are looked up.

    Parameters
    ----------
    scorer
        ``ratio`` compares the evidence with whole paragraphs. ``partial_ratio`` compares it also with the best part of
        paragraphs that are at least as long, where the evidence has `SHORTEST_PART` characters or more.
    threshold
        Least similarity (0..100) of a fuzzy match.
    repeated
        Which of several paragraphs (or sections) with the same text is meant: ``first``, or ``all`` of them. With
        ``first``, an answer that cites the same text n times means its first n occurrences.
    section
        What is left may name a section: ``named`` takes that section whole, subsections included; ``off`` does not.
    """

    scorer: str = "ratio"
    threshold: float = 90.0
    repeated: str = "first"
    section: str = "named"

    def __post_init__(self) -> None:
        if self.scorer not in ("ratio", "partial_ratio"):
            raise ValueError(f"fuzzy_scorer is {self.scorer!r}; allowed are ratio, partial_ratio")
        if isinstance(self.threshold, bool) or not 0 < self.threshold <= 100:
            raise ValueError(f"fuzzy_threshold is {self.threshold!r}; allowed is 0 < fuzzy_threshold <= 100")
        if self.repeated not in ("first", "all"):
            raise ValueError(f"repeated is {self.repeated!r}; allowed are first, all")
        if self.section not in ("named", "off"):
            raise ValueError(f"section_fallback is {self.section!r}; allowed are named, off")


@dataclass(frozen=True)
class Match:
    """What became of one evidence string.

    Parameters
    ----------
    step
        ``exact``, ``fuzzy`` or ``section`` where it was found; ``float``, ``empty`` or ``unmatched`` where it was not.
    score
        Similarity (0..100) to what it was matched with; for ``unmatched``, to the most similar paragraph.
    spans
        Where it lies, in characters of the document.
    """

    step: str
    score: float = 0.0
    spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return self.step if self.step in ("float", "empty") else f"{self.step}: {self.score:.2f}"


def comparable(text: str) -> str:
    """Return text as the official reader compares it: newlines as spaces, no space around."""
    return text.replace("\n", " ").strip()


def section_path(name: str | None) -> tuple[str, ...]:
    """Return the titles of a section name, from the top: ``A ::: B`` is A, then B; empty for no name."""
    titles = (" ".join(title.split()) for title in (name or "").split(NESTING))
    return tuple(title for title in titles if title)


@dataclass(frozen=True)
class EvidenceIndex:
    """The paragraphs and sections of one document, ready to be looked up."""

    document: Document
    matching: Matching

    @cached_property
    def _texts(self) -> list[str]:
        return [comparable(self.document.text[start:end]) for start, end in self.document.paragraphs]

    @cached_property
    def _exact(self) -> dict[str, list[Span]]:
        places: dict[str, list[Span]] = {}
        for text, span in zip(self._texts, self.document.paragraphs, strict=True):
            places.setdefault(text, []).append(span)
        return places

    @cached_property
    def _squeezed(self) -> list[str]:
        return [" ".join(text.split()) for text in self._texts]

    @cached_property
    def _paths(self) -> list[tuple[str, ...]]:
        """Paths of the sections, each once, as they are compared: without case."""
        return list(dict.fromkeys(section.path for section in self.document.sections if section.path))

    def match_all(self, evidence: Iterable[str]) -> list[Match]:
        """Look up the evidence of one answer; see `Matching.repeated` for what repeated strings mean."""
        cited: Counter[str] = Counter()
        matches = []
        for item in evidence:
            text = comparable(item)
            matches.append(self._match(text, cited[text]))
            cited[text] += 1
        return matches

    def _match(self, text: str, times_cited: int) -> Match:
        if not text:
            return Match("empty")
        if FLOAT in text:
            return Match("float")
        if text in self._exact:
            return Match("exact", 100.0, self._choose(self._exact[text], times_cited))
        score, places = self._most_similar(" ".join(text.split()))
        if score >= self.matching.threshold:
            return Match("fuzzy", score, self._choose(places, times_cited))
        spans = self._section(text) if self.matching.section == "named" else []
        if spans:
            return Match("section", 100.0, self._choose(spans, times_cited))
        return Match("unmatched", score)

    def _choose(self, places: Sequence[Span], times_cited: int) -> tuple[Span, ...]:
        if self.matching.repeated == "all":
            return tuple(places)
        return (places[min(times_cited, len(places) - 1)],)

    def _most_similar(self, text: str) -> tuple[float, list[Span]]:
        """Return the greatest similarity of a paragraph, and every paragraph that has it."""
        from rapidfuzz import fuzz

        best = 0.0
        places: list[Span] = []
        for paragraph, span in zip(self._squeezed, self.document.paragraphs, strict=True):
            score = fuzz.ratio(text, paragraph, score_cutoff=best)
            if self.matching.scorer == "partial_ratio" and SHORTEST_PART <= len(text) <= len(paragraph):
                score = max(score, fuzz.partial_ratio(text, paragraph, score_cutoff=best))
            if score > best:
                best, places = score, []
            if score == best and score > 0:
                places.append(span)
        return best, places

    def _section(self, text: str) -> list[Span]:
        """Return the sections that the evidence names: by full name, else by a title that only one section has."""
        wanted = _folded(section_path(text))
        named = [path for path in self._paths if _folded(path) == wanted]
        if not named:
            named = [path for path in self._paths if _folded(path[-1:]) == wanted]
            named = named if len(named) == 1 else []
        return sorted(span for path in named for span in self.document.subtree(path))


def _folded(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(title.casefold() for title in path)

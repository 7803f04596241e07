"""What the sections of a document are: proposing, checking, clamping, repairing and placing them (paper E.2, H).

An inducer gives *proposals* (title, level, paragraph range) in reading order. A proposal without own paragraphs is a
heading directly above a deeper one. Legal proposals become *sections*: rows with paths from the top and character
offsets, which tile the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from docstructure.contracts.sections import MAX_LEVEL
from docstructure.spans import Span, check_tiling

MIN_COVERED = 0.5
"""Share of the paragraphs that proposals must cover to count as near-valid; below it nothing is repaired."""

Placed = tuple[tuple[str, ...], int, int]
"""Path from the top, first own paragraph, one past the last own paragraph."""


class Unusable(ValueError):  # noqa: N818 (an outcome of a document, as structures.parquet names it)
    """Proposals are too far from a legal structure to be repaired; the message is the reason."""


@dataclass(frozen=True)
class Proposal:
    """A section as an inducer proposes it.

    Parameters
    ----------
    title
        Its title.
    level
        Nesting level from 1, not clamped.
    par_start, par_end
        Own paragraphs, half-open; equal for a heading that stands directly above a deeper one.
    """

    title: str
    level: int
    par_start: int
    par_end: int


@dataclass(frozen=True)
class Section:
    """A section of a document with its own text.

    Parameters
    ----------
    path
        Titles from the top at true depth; empty for text before any heading.
    level
        Nesting level, clamped to ``1..MAX_LEVEL``.
    par_start, par_end
        Own paragraphs, half-open.
    start, end
        Characters: from its first paragraph to the next section's first paragraph, or to the end of the text.
    """

    path: tuple[str, ...]
    level: int
    par_start: int
    par_end: int
    start: int
    end: int


def clamp(depth: int) -> int:
    """Return the level that is stored for a true depth (paper H: the clamp bounds the stored integer only)."""
    return min(max(depth, 1), MAX_LEVEL)


def verify(sections: Sequence[Section], paragraphs: Sequence[Span], text_length: int) -> list[str]:
    """Return every violation of what a structure promises; empty when it is verified (paper E.2).

    Parameters
    ----------
    sections
        Sections of one document, in order.
    paragraphs
        The document's paragraph table, in characters.
    text_length
        Length of its text, in characters.
    """
    if not sections:
        return ["there is no section"]
    problems = [
        f"paragraphs: {problem.replace('the text', 'the document')}"
        for problem in check_tiling([(section.par_start, section.par_end) for section in sections], len(paragraphs))
    ]
    problems += [
        f"characters: {problem}"
        for problem in check_tiling([(section.start, section.end) for section in sections], text_length)
    ]
    for index, section in enumerate(sections):
        problems += [f"section {index}: {problem}" for problem in _verify_section(section, paragraphs, text_length)]
        if index and not section.path:
            problems.append(f"section {index}: it has no title (only text before any heading has none)")
    return problems


def _verify_section(section: Section, paragraphs: Sequence[Span], text_length: int) -> list[str]:
    problems = []
    if not 1 <= section.level <= MAX_LEVEL:
        problems.append(f"level {section.level} is outside 1..{MAX_LEVEL}")
    elif section.level != clamp(len(section.path)):
        problems.append(f"level {section.level} disagrees with a path of depth {len(section.path)}")
    if not all(title.strip() for title in section.path):
        problems.append(f"a title is empty in path {list(section.path)}")
    if not 0 <= section.par_start < section.par_end <= len(paragraphs):
        problems.append(
            f"paragraph range [{section.par_start}, {section.par_end}) is empty or outside [0, {len(paragraphs)})"
        )
    else:
        expected = _characters(section.par_start, section.par_end, paragraphs, text_length)
        if (section.start, section.end) != expected:
            problems.append(
                f"char offsets [{section.start}, {section.end}) disagree with the paragraph table: expected "
                f"[{expected[0]}, {expected[1]})"
            )
    return problems


def violations(proposals: Sequence[Proposal], n_paragraphs: int) -> list[str]:
    """Return every constraint that proposals break; empty when they are legal (paper H).

    The paragraph ranges tile ``[0, n_paragraphs)`` in order; every title has text; the first level is 1, and a level
    exceeds the one before by at most one; only a heading directly above a deeper one is without own paragraphs.
    Messages name the section, so that they can be quoted back to an inducer.
    """
    if not proposals:
        return ["there is no section"]
    problems = []
    position, level = 0, 0
    for index, proposal in enumerate(proposals):
        name = f"section {index} ({proposal.title!r})"
        start, end = proposal.par_start, proposal.par_end
        if not proposal.title.strip():
            problems.append(f"{name}: the title is empty")
        if start < 0 or end > n_paragraphs:
            problems.append(f"{name}: paragraphs [{start}, {end}) are outside [0, {n_paragraphs})")
        if start > end:
            problems.append(f"{name}: paragraphs [{start}, {end}) are reversed")
        elif start == end and not _is_heading_above(proposals, index):
            problems.append(f"{name}: it has no paragraph and no deeper section follows at paragraph {start}")
        if start > position:
            problems.append(f"{name}: paragraphs [{position}, {start}) before it are in no section")
        elif start < position:
            problems.append(f"{name}: it begins at paragraph {start}, the section before it ends at {position}")
        if proposal.level < 1:
            problems.append(f"{name}: level {proposal.level} is below 1")
        elif proposal.level > level + 1:
            problems.append(f"{name}: level {proposal.level} after level {level}: it may increase by one only")
        position, level = max(position, end), proposal.level
    if position < n_paragraphs:
        problems.append(f"paragraphs [{position}, {n_paragraphs}) at the end are in no section")
    return problems


def _is_heading_above(proposals: Sequence[Proposal], index: int) -> bool:
    if index + 1 == len(proposals):
        return False
    below = proposals[index + 1]
    return below.par_start == proposals[index].par_start and below.level > proposals[index].level


def repair(proposals: Sequence[Proposal], n_paragraphs: int, min_covered: float = MIN_COVERED) -> tuple[Proposal, ...]:
    """Snap near-valid proposals to legal ones; legal proposals come back as they are (paper H).

    Section starts are the authority: reversed ranges are turned round, ranges cut to the document, sections sorted by
    start; each then reaches to the next one's start, the first from paragraph 0, the last to the end. So a gap goes to
    the section before it and an overlap to the section after it. Of sections that begin at the same paragraph, deeper
    ones are nested in shallower ones, and of equal level the longest is kept. Sections without title or without
    paragraphs give theirs to the section before. Levels that jump are closed up by nesting: siblings stay siblings.

    Raises
    ------
    Unusable
        If nothing is left to build on, or the proposals cover less than `min_covered` of the paragraphs.
    """
    if not violations(proposals, n_paragraphs):
        return tuple(proposals)
    if n_paragraphs < 1:
        raise Unusable("the document has no paragraph")
    inside = _clip(proposals, n_paragraphs)
    if not inside:
        raise Unusable(f"none of {len(proposals)} proposed sections has a title and paragraphs of this document")
    covered = _covered(inside)
    if covered < min_covered * n_paragraphs:
        raise Unusable(f"the proposed sections cover {covered} of {n_paragraphs} paragraphs")
    return tuple(_nest(_stretch(_order(inside), n_paragraphs)))


def _clip(proposals: Sequence[Proposal], n_paragraphs: int) -> list[Proposal]:
    """Turn ranges round, cut them to the document and leave out what has no title or no place in it."""
    clipped = []
    for index, proposal in enumerate(proposals):
        low, high = sorted((proposal.par_start, proposal.par_end))
        start, end = max(low, 0), min(high, n_paragraphs)
        if proposal.title.strip() and (start < end or (start == end and _is_heading_above(proposals, index))):
            clipped.append(replace(proposal, par_start=start, par_end=end))
    return [proposal for proposal in clipped if proposal.par_start < n_paragraphs]


def _covered(proposals: Sequence[Proposal]) -> int:
    """Return how many paragraphs lie in some proposal."""
    covered = position = 0
    for start, end in sorted((proposal.par_start, proposal.par_end) for proposal in proposals):
        covered += max(0, end - max(start, position))
        position = max(position, end)
    return covered


def _order(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Sort by start, shallower first; keep one section per start and level."""
    ordered = sorted(proposals, key=lambda proposal: (proposal.par_start, proposal.level, -proposal.par_end))
    kept: list[Proposal] = []
    for proposal in ordered:
        if not kept or (kept[-1].par_start, kept[-1].level) != (proposal.par_start, proposal.level):
            kept.append(proposal)
    return kept


def _stretch(proposals: Sequence[Proposal], n_paragraphs: int) -> list[Proposal]:
    """Let every section reach to the next one's start; the first begins with the document."""
    first = proposals[0].par_start
    starts = [0 if proposal.par_start == first else proposal.par_start for proposal in proposals]
    return [
        replace(proposal, par_start=start, par_end=end)
        for proposal, start, end in zip(proposals, starts, [*starts[1:], n_paragraphs], strict=True)
    ]


def _nest(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Replace each level by its depth of nesting: below the nearest section before it with a smaller level."""
    nested, above = [], list[int]()
    for proposal in proposals:
        while above and above[-1] >= proposal.level:
            above.pop()
        above.append(proposal.level)
        nested.append(replace(proposal, level=len(above)))
    return nested


def assemble(proposals: Sequence[Proposal], paragraphs: Sequence[Span], text_length: int) -> tuple[Section, ...]:
    """Return the sections that legal proposals stand for.

    Raises
    ------
    ValueError
        If the proposals are not legal; the message holds every violation.
    """
    problems = violations(proposals, len(paragraphs))
    if problems:
        raise ValueError("proposals are not legal: " + "; ".join(problems))
    placed: list[Placed] = []
    path: tuple[str, ...] = ()
    for proposal in proposals:
        path = (*path[: proposal.level - 1], " ".join(proposal.title.split()))
        placed.append((path, proposal.par_start, proposal.par_end))
    return place(placed, paragraphs, text_length)


def place(placed: Iterable[Placed], paragraphs: Sequence[Span], text_length: int) -> tuple[Section, ...]:
    """Give paths and paragraph ranges their stored level and character offsets.

    Sections without own paragraphs are left out; they live on in the paths below them. Ranges that do not fit the
    paragraph table are placed as far as it reaches, for `verify` to report.
    """
    return tuple(
        Section(path, clamp(len(path)), par_start, par_end, *_characters(par_start, par_end, paragraphs, text_length))
        for path, par_start, par_end in placed
        if par_start != par_end
    )


def _characters(par_start: int, par_end: int, paragraphs: Sequence[Span], text_length: int) -> Span:
    """Return a section's characters; the blank line after a paragraph belongs to the section before it."""
    edges = [paragraphs[index][0] if 0 <= index < len(paragraphs) else text_length for index in (par_start, par_end)]
    return (edges[0], edges[1])

"""What a structure kind sees of a document, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docstructure.spans import Span
from docstructure.tree import Proposal, Section, Unusable, assemble, repair, verify, violations

SHOWN = 3


class StructureError(ValueError):
    """A structure cannot be had for this corpus; the message names corpus and structure and says what to do."""


@dataclass(frozen=True)
class Flat:
    """A document without headings and title: all that an inducer sees.

    Parameters
    ----------
    doc_id
        Identifier, for messages and caches.
    text
        Flat text.
    paragraphs
        Span of each paragraph in the text, in characters.
    """

    doc_id: str
    text: str
    paragraphs: tuple[Span, ...]

    @property
    def paragraph_texts(self) -> list[str]:
        """The text of each paragraph."""
        return [self.text[start:end] for start, end in self.paragraphs]


@dataclass(frozen=True)
class Outcome:
    """How one document came through, with its verified sections (none when unusable).

    Parameters
    ----------
    status
        One of `docstructure.contracts.structures.STATUSES`.
    reason
        The violations that were found; empty when ok.
    """

    doc_id: str
    sections: tuple[Section, ...]
    status: str
    reason: str = ""


def judge(document: Flat, sections: Sequence[Section]) -> Outcome:
    """Return sections that verify as ok, others as unusable."""
    problems = verify(sections, document.paragraphs, len(document.text))
    if problems:
        return Outcome(document.doc_id, (), "unusable", summary(problems))
    return Outcome(document.doc_id, tuple(sections), "ok")


def settle(
    document: Flat,
    proposals: Sequence[Proposal],
    first_problems: Sequence[str] = (),
    malformed: Sequence[str] = (),
) -> Outcome:
    """Turn an inducer's last answer into an outcome: as it is, repaired by rule, or unusable (paper H).

    Parameters
    ----------
    document
        The document.
    proposals
        What the inducer proposes.
    first_problems
        Violations of a first answer that these proposals correct; empty when this is the first answer.
    malformed
        What was wrong with how the proposals were written, before they could be read as proposals.
    """
    n_paragraphs = len(document.paragraphs)
    problems = [*malformed, *violations(proposals, n_paragraphs)]
    try:
        legal = repair(proposals, n_paragraphs)
    except Unusable as reason:
        return Outcome(document.doc_id, (), "unusable", f"{reason}; {summary(problems)}")
    outcome = judge(document, assemble(legal, document.paragraphs, len(document.text)))
    if outcome.status == "unusable":
        return outcome
    if problems:
        return Outcome(document.doc_id, outcome.sections, "repaired", summary(problems))
    if first_problems:
        return Outcome(document.doc_id, outcome.sections, "corrected", summary(first_problems))
    return outcome


def summary(problems: Sequence[str]) -> str:
    """Return the first problems in one line, with the number of the others."""
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more

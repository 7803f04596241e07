"""A wiki page before and after the normaliser, and the sections that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from docstructure.corpora.corpus import Block

BOILERPLATE = (
    "references", "notes", "footnotes", "citations", "sources", "bibliography", "works cited",
    "references and notes", "notes and references", "notes and citations", "references and sources",
    "sources and references", "general references", "general and cited references", "general and cited sources",
    "cited sources", "cited works", "citations and notes", "explanatory notes", "explanatory footnotes",
    "informational notes", "inline citations", "literature", "literature cited", "general sources",
    "primary sources", "secondary sources", "print sources", "online sources", "further reading", "external links",
    "external links and references", "see also", "endnotes", "sources cited", "references cited",
    "bibliography and further reading", "footnotes and references", "notes and sources", "external sources",
    "suggested reading",
)  # fmt: skip
"""Titles of sections that are apparatus, not prose; compared without case."""


class NormaliseError(ValueError):
    """A page cannot be normalised; the message begins with a code."""


@dataclass(frozen=True)
class RawPage:
    """A page as its source gives it.

    Parameters
    ----------
    asked, title
        The title in the list of candidates, and the page's own (another one after a redirect).
    text
        Wikitext; empty where there is a `problem`.
    revision, path
        Revision id and URL or file.
    categories
        Non-hidden categories without prefix, or None where the source does not know: then the links in the wikitext.
    problem
        Why there is no page: a code, with details after a colon.
    """

    asked: str
    title: str
    text: str = ""
    revision: str = ""
    path: str = ""
    categories: tuple[str, ...] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Page:
    """A normalised page.

    Parameters
    ----------
    blocks
        Headings and paragraphs in reading order, boilerplate sections left out.
    categories
        Titles of the category links, without prefix.
    unseen
        ``title (container)`` of each heading line that stands in a table or template that was left out.
    characters
        What became of the characters of the wikitext: ``source`` (all), ``kept`` (in paragraphs), and the lost ones by
        class: ``comments``, ``references``, ``extensions``, ``templates``, ``tables``, ``files``, ``links`` (categories
        and languages), ``boilerplate`` (prose of such sections), ``stray`` (broken markup), ``markup`` (the remainder:
        headings, link targets, quotes, tags; negative where rendering adds more than markup takes).
    dropped
        Template name to characters of its uses that were left out.
    """

    blocks: tuple[Block, ...]
    categories: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    characters: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

"""Wikipedia Featured Articles (paper 4.1, appendix E): a seeded walk with quality filters and topic buckets.

The candidates are sorted by SHA-256 of ``seed|title``: the same order for ever, on every Python, and a title that comes
or goes moves no other. They are taken in this order until `n_docs` are accepted. This corpus has no queries of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from docstructure.corpora import mediawiki, wikidump, wikifolder
from docstructure.corpora.corpus import Corpus, CorpusError, Document, Heading, Item, assemble
from docstructure.corpora.wikidump import is_redirect, template_pattern
from docstructure.corpora.wikipage import BOILERPLATE, NormaliseError, Page, RawPage
from docstructure.corpora.wikiprocess import NormaliserProcess

SOURCES = {"api": mediawiki.Options, "dump": wikidump.Options, "folder": wikifolder.Options}
SourceOptions = mediawiki.Options | wikidump.Options | wikifolder.Options
OTHER = "other"
_MATCHES = {"prefix": (r"\b(?:", ")"), "word": (r"\b(?:", r")\b"), "substring": ("(?:", ")")}


@dataclass(frozen=True)
class Options:
    """Options of the ``wikipedia`` builder.

    Parameters
    ----------
    source
        ``{api: {...}}``, ``{dump: {...}}`` or ``{folder: {...}}``: see `mediawiki`, `wikidump`, `wikifolder`.
    n_docs
        Accepted documents at which the walk ends (Table 6).
    min_words
        Least number of words (runs without white space) in a document's text.
    min_depth, depth_reading
        Least heading depth. ``equals``: the number of ``=`` of the deepest heading, so that a depth of 3 is ``===``
        and the title is level 1, as in the prefixes. ``nesting``: levels of headings below the title, so that it is
        ``====``. Boilerplate sections do not count.
    min_sections
        Least number of sections with a heading.
    max_per_bucket
        Accepted documents per topic bucket (E.1).
    topics, topic_match
        File of the buckets' keywords, and how one matches a category, without case: at the beginning of a word
        (``prefix``), as a ``word``, or anywhere (``substring``).
    require_featured, featured_templates
        For ``dump`` and ``folder``: whether a candidate must bear one of these templates.
    seed
        Of the walk.
    boilerplate
        Titles of sections that are left out with their subsections, without case.
    templates
        Further templates to keep, with the parameter that each reads as: ``{name: "1"}``.
    page_seconds
        Time limit of one page's normalisation.
    licence
        Of the text, for the documents' source column.
    """

    source: Mapping[str, Mapping[str, Any]]
    n_docs: int = 200
    min_words: int = 3000
    min_depth: int = 3
    depth_reading: str = "equals"
    min_sections: int = 12
    max_per_bucket: int = 60
    topics: str = "resources/topics.yaml"
    topic_match: str = "prefix"
    require_featured: bool = True
    featured_templates: Sequence[str] = ("featured article",)
    seed: int = 20260710
    boilerplate: Sequence[str] = BOILERPLATE
    templates: Mapping[str, str] = field(default_factory=dict)
    page_seconds: float = 60.0
    licence: str = "CC BY-SA 4.0"

    def __post_init__(self) -> None:
        for name, least in (
            ("n_docs", 1),
            ("min_words", 0),
            ("min_depth", 0),
            ("min_sections", 0),
            ("max_per_bucket", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"builder wikipedia: {name} is {getattr(self, name)}; it must be at least {least}")
        if self.depth_reading not in {"equals", "nesting"}:
            raise ValueError(f"builder wikipedia: depth_reading is {self.depth_reading!r}; allowed are equals, nesting")
        if self.topic_match not in _MATCHES:
            raise ValueError(
                f"builder wikipedia: topic_match is {self.topic_match!r}; allowed are {', '.join(_MATCHES)}"
            )
        if not self.page_seconds > 0:
            raise ValueError(f"builder wikipedia: page_seconds is {self.page_seconds}; it must be above 0")
        if self.require_featured and not self.featured_templates:
            raise ValueError(
                "builder wikipedia: featured_templates is empty; name a template or set require_featured: false"
            )
        self.source_options()

    def source_options(self) -> SourceOptions:
        """Return the options of the chosen source.

        Raises
        ------
        ValueError
            If not exactly one known source is named, or an option of it is unknown, missing or wrong.
        """
        if len(self.source) != 1 or next(iter(self.source)) not in SOURCES:
            raise ValueError(
                f"builder wikipedia: source is {dict(self.source)}; write {{kind: {{options}}}} with one kind of "
                f"{', '.join(SOURCES)}"
            )
        kind, given = next(iter(self.source.items()))
        fields = [entry.name for entry in dataclasses.fields(SOURCES[kind])]
        unknown = sorted(set(given or {}) - set(fields))
        if unknown:
            raise ValueError(
                f"wikipedia source {kind}: unknown option {', '.join(unknown)}; it has {', '.join(fields)}"
            )
        if "path" in fields and "path" not in (given or {}):
            raise ValueError(f"wikipedia source {kind}: option path is missing")
        options: SourceOptions = SOURCES[kind](**(given or {}))
        return options


class Source(Protocol):
    """Where pages come from."""

    @property
    def ordered(self) -> bool:
        """Whether the titles come in walk order already."""

    def titles(self) -> Sequence[str]:
        """Return the titles of the candidates."""

    def pages(self, titles: Sequence[str]) -> Iterator[RawPage]:
        """Yield the pages of these titles, in their order."""

    def items(self) -> Sequence[Item]:
        """Return what the funnel says of the source."""

    def finish(self) -> None:
        """End the walk."""


@dataclass(frozen=True)
class Topics:
    """The topic buckets, in table order, and how hidden categories begin."""

    buckets: tuple[tuple[str, re.Pattern[str]], ...]
    hidden: tuple[str, ...]

    def bucket(self, categories: Sequence[str]) -> str:
        """Return the first bucket of which a keyword matches a category, else ``other``."""
        return next((name for name, words in self.buckets if any(words.search(title) for title in categories)), OTHER)

    def visible(self, categories: Sequence[str]) -> list[str]:
        """Return the categories that do not look like hidden ones."""
        return [title for title in categories if not title.casefold().startswith(self.hidden)]


def build(options: Options) -> Corpus:
    """Build the corpus: walk, normalise, filter, assemble.

    The funnel has four files: ``corpus`` (every page walked, with its bucket or the reason against it), ``source``,
    ``characters`` (what became of each accepted page's characters) and ``templates`` (what was left out, by name).

    Raises
    ------
    CorpusError
        If the source cannot be read, or no page is accepted.
    """
    topics = read_topics(options.topics, options.topic_match)
    source = _open(options)
    titles = source.titles()
    walk = list(titles) if source.ordered else walk_order(titles, options.seed)
    progress = _Walk(options, topics)
    boilerplate = [title.casefold() for title in options.boilerplate]
    with NormaliserProcess(options.page_seconds, boilerplate, options.templates) as normaliser:
        for raw in source.pages(walk):
            progress.take(raw, normaliser)
            if len(progress.documents) == options.n_docs:
                break
    if not progress.documents:
        reasons = Counter(item.reason.partition(":")[0] for item in progress.items).most_common()
        raise CorpusError(
            f"builder wikipedia: none of {len(progress.items)} pages was accepted: "
            + (", ".join(f"{reason} {count}" for reason, count in reasons) or "the source lists none")
        )
    source.finish()
    if len(progress.documents) < options.n_docs:
        print(
            f"wikipedia: all {len(walk)} candidates were walked; {len(progress.documents)} of {options.n_docs} "
            "documents were found",
            file=sys.stderr,
        )
    items = [*source.items(), Item("walked", kept=True, reason=f"{len(progress.items)} candidates")]
    funnels = {
        "corpus": progress.items,
        "source": items,
        "characters": progress.characters,
        "templates": progress.template_items(),
    }
    return Corpus(progress.documents, [], funnels)


def walk_order(titles: Sequence[str], seed: int) -> list[str]:
    """Return distinct titles in the order of SHA-256 of ``seed|title``."""
    return sorted(set(titles), key=lambda title: (hashlib.sha256(f"{seed}|{title}".encode()).digest(), title))


class _Walk:
    """Pages taken so far: documents accepted, and an item per page."""

    def __init__(self, options: Options, topics: Topics) -> None:
        self._options, self._topics = options, topics
        self.documents: list[Document] = []
        self.items: list[Item] = []
        self.characters: list[Item] = []
        self._origin: dict[str, str] = {}
        self._filled: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._uses: Counter[str] = Counter()
        self._featured = template_pattern(options.featured_templates) if self._needs_template() else None

    def _needs_template(self) -> bool:
        return self._options.require_featured and "api" not in self._options.source

    def take(self, raw: RawPage, normaliser: NormaliserProcess) -> None:
        """Accept or reject one page."""
        asked = _identifier(raw.asked)
        try:
            document, page = self._judge(raw, normaliser)
        except _Rejection as rejection:
            self.items.append(Item(asked, kept=False, reason=str(rejection)))
            return
        bucket = document.topic or OTHER
        self.documents.append(document)
        self.items.append(Item(asked, kept=True, reason=bucket))
        self.characters.append(Item(document.doc_id, kept=True, reason=_account(page)))
        self._origin[document.doc_id] = raw.asked
        self._filled[bucket] += 1
        self._dropped.update(page.dropped)
        self._uses.update(dict.fromkeys(page.dropped, 1))

    def _judge(self, raw: RawPage, normaliser: NormaliserProcess) -> tuple[Document, Page]:
        options = self._options
        if raw.problem:
            raise _Rejection(raw.problem)
        doc_id = _identifier(raw.title)
        if doc_id in self._origin:
            raise _Rejection(f"duplicate: the same page as {self._origin[doc_id]}")
        if is_redirect(raw.text):
            raise _Rejection("redirect")
        if self._featured is not None and not self._featured.search(raw.text):
            raise _Rejection("not_featured")
        try:
            page = normaliser.normalise(raw.text)
        except NormaliseError as error:
            raise _Rejection(str(error)) from None
        categories = self._topics.visible(page.categories) if raw.categories is None else raw.categories
        document = assemble(
            doc_id, raw.title, page.blocks, path=raw.path, revision=raw.revision, licence=options.licence,
            topic=self._topics.bucket(categories),
        )  # fmt: skip
        self._filter(document, page)
        return document, page

    def _filter(self, document: Document, page: Page) -> None:
        options = self._options
        words = len(document.text.split())
        ranks = [block.rank for block in page.blocks if isinstance(block, Heading)]
        depth = max(ranks, default=1)
        if options.depth_reading == "nesting":
            depth = max((len(section.path) for section in document.sections), default=0)
        if not document.paragraphs:
            raise _Rejection("no_prose")
        if words < options.min_words:
            raise _Rejection(f"too_short: {words} words, at least {options.min_words}")
        if depth < options.min_depth:
            raise _Rejection(f"too_shallow: heading depth {depth}, at least {options.min_depth}")
        if len(ranks) < options.min_sections:
            raise _Rejection(f"too_few_sections: {len(ranks)} sections, at least {options.min_sections}")
        bucket = document.topic or OTHER
        if self._filled[bucket] >= options.max_per_bucket:
            raise _Rejection(f"bucket_full: {bucket} holds {options.max_per_bucket}")

    def template_items(self) -> list[Item]:
        """Return the templates left out, most characters first."""
        order = sorted(self._dropped.items(), key=lambda pair: (-pair[1], pair[0]))
        return [
            Item(name, kept=False, reason=f"left_out: {size} characters in {self._uses[name]} documents")
            for name, size in order
        ]


class _Rejection(Exception):  # noqa: N818 - no error: a page that does not qualify
    """Why a page is not accepted: a code, with details after a colon."""


def _account(page: Page) -> str:
    """Return where a page's characters went, as one line."""
    counts = dict(page.characters)
    source, kept = counts.pop("source"), counts.pop("kept")
    lost = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    unseen = f"; headings left out with it: {', '.join(page.unseen)}" if page.unseen else ""
    return f"kept {kept} of {source} ({100 * kept / max(1, source):.1f} %): {lost}{unseen}"


def _identifier(title: str) -> str:
    return "_".join(title.split())


def _decisions(options: Options) -> str:
    """Return the options that decide which pages a walk accepts, and so where it ends."""
    decided = {**dataclasses.asdict(options), "source": None, "licence": None}
    return json.dumps(decided, sort_keys=True)


def _open(options: Options) -> Source:
    chosen = options.source_options()
    if isinstance(chosen, mediawiki.Options):
        return mediawiki.open_source(chosen, _decisions(options))
    if isinstance(chosen, wikidump.Options):
        return wikidump.open_source(chosen, options.featured_templates if options.require_featured else ())
    return wikifolder.open_source(chosen)


def read_topics(path: str, match: str) -> Topics:
    """Read the table of topic buckets.

    Raises
    ------
    CorpusError
        If the file is missing, or is not ``buckets: {name: [keyword]}`` and ``hidden: [beginning]``.
    """
    import yaml

    file = Path(path)
    if not file.is_file():
        raise CorpusError(f"{path}: no such file; topics names the table of topic buckets (resources/topics.yaml)")
    try:
        table = yaml.safe_load(file.read_text(encoding="utf-8"))
        left, right = _MATCHES[match]
        buckets = tuple(
            (str(name), re.compile(left + "|".join(re.escape(str(word)) for word in words) + right, re.IGNORECASE))
            for name, words in table["buckets"].items()
            if words
        )
        hidden = tuple(str(beginning).casefold() for beginning in table.get("hidden") or ())
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{path}: not a table of topic buckets, buckets: {{name: [keyword]}} ({error})") from None
    return Topics(buckets, hidden)

"""The one normaliser from wikitext to headings and paragraphs (paper 4.1, E.2).

The page is read as MediaWiki reads it: first comments and extension tags (``<ref>``, ``<nowiki>``, ``<math>`` ...) are
taken out in one pass over the characters, the first to open wins; then mwparserfromhell parses what is left. What is
kept is the prose: paragraphs, list items and definitions, one paragraph each. References, tables, files, categories,
interlanguage links, behaviour switches and the templates not listed in `wikitemplates` are left out and counted.

Every heading line of the markup must come out as a heading: they are counted a second time by another rule
(`heading_levels`), and a page where the two differ is refused, unless each missing one stands in a table or template
that was left out. White space, no-break spaces included, becomes single spaces; entities are decoded; formulas keep
their TeX source.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import Argument, ExternalLink, HTMLEntity, Tag, Template, Text, Wikilink
from mwparserfromhell.nodes import Heading as HeadingNode

from docstructure.corpora.corpus import Block, Heading, Paragraph
from docstructure.corpora.wikipage import BOILERPLATE, NormaliseError, Page
from docstructure.corpora.wikitemplates import FUNCTIONS, ITEM, PARAGRAPH, Arguments, Renderer, fold, renderer

GAP = "\x04"

_HEADING = re.compile(r"(?m)^(={1,6})[ \t]*(\S.*?)[ \t]*\1[ \t]*$")
_OPENING = re.compile(
    r"<(?:!--|(ref|references|gallery|timeline|imagemap|score|hiero|graph|mapframe|maplink|templatestyles|templatedata|"
    r"indicator|inputbox|section|categorytree|phonos|includeonly|nowiki|pre|syntaxhighlight|source|math|chem|ce)"
    r"(?=[\s/>])|/?(?:noinclude|onlyinclude|poem)\b[^<>]*>)",
    re.IGNORECASE,
)
_LITERAL = frozenset({"nowiki", "pre", "syntaxhighlight", "source", "math", "chem", "ce"})
_BLOCK_LITERAL = frozenset({"pre", "syntaxhighlight", "source"})
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PLACE = re.compile("\x7f(\\d+)\x7f")
_SWITCH = re.compile(r"__[A-Z]{3,}__")
_BREAK = re.compile("\x01\\s*\x01[\\s\x01]*")
_BLOCK_TAGS = frozenset(
    [
        "p",
        "div",
        "blockquote",
        "center",
        "li",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "section",
        "article",
    ]
)
_EMPTY_TAGS = {"br": "\x01", "hr": PARAGRAPH}
_DROPPED_TAGS = frozenset(["ref", "references", "gallery", "table", "timeline", "imagemap", "style", "script"])
_HTML = re.compile(
    r"</?(?:abbr|b|bdi|bdo|big|blockquote|br|center|cite|code|dd|del|dfn|div|dl|dt|em|font|gallery|h[1-6]|hr|i|ins|kbd|li|"
    r"math|nowiki|ol|p|poem|pre|q|ref|references|rp|rt|ruby|s|samp|small|span|strike|strong|sub|sup|table|td|th|tr|tt|u|ul|"
    r"var|wbr|includeonly|timeline|imagemap|syntaxhighlight|source)(?:\s[^<>]*|/)?>|<ref\b[^<>]*$",
    re.IGNORECASE,
)
_BROKEN_LINK = re.compile(
    r"\[*(?:file|image|datei|bild):[^|\n]*\|.*|thumb\|.*|\[+:?category:[^\[\]\n]*\]*", re.IGNORECASE
)
_STRAY = re.compile(r"\{{2,}|\}{2,}|\{\||\|\}|\[{2,}|'{2,}|\x03+|\x02|\x01")
_UNTANGLED = {"[": "[", "'": '"', "\x01": " "}
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_HOLLOW = re.compile(
    "\\s*\\([\\s,;:]*\x04[\\s,;:\x04]*\\)|(?<=\\()[\\s,;:]*\x04[\\s,;:\x04]*|[\\s,;]*\x04[\\s,;:\x04]*(?=\\))|\x04"
)
_LANGUAGE = re.compile(r"^(?:[a-z]{2,3}(?:-[a-z]{2,8})*|simple|be-x-old|map-bms|roa-rup|zh-[a-z-]+)$")
_NOT_LANGUAGES = frozenset(["doi", "rfc", "hdl", "mw", "voy", "irc", "wmf", "tmh", "wp", "pmid", "isbn"])
# English names, and those of the largest other wikis
_FILES = frozenset(
    [
        "file",
        "image",
        "datei",
        "bild",
        "fichier",
        "archivo",
        "imagen",
        "immagine",
        "bestand",
        "ficheiro",
        "plik",
        "файл",
        "fil",
    ]
)
_CATEGORIES = frozenset(
    "category kategorie catégorie categoría categoria categorie kategoria категория kategori".split()  # noqa: SIM905
)
_LISTS = frozenset("*#:;")
_QUOTES = re.compile(r"('{2,})")


def heading_levels(wikitext: str) -> list[tuple[int, str]]:
    """Return level and raw title of every heading line, counted by a rule of its own.

    The lines that begin and end with as many ``=``, once comments, unparsed tags and what only a page that includes
    this one shows are cut out.
    """
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", wikitext.replace("\r\n", "\n"), flags=re.DOTALL)
    text = re.sub(
        r"<(nowiki|pre|syntaxhighlight|source|math|ref|gallery|timeline|includeonly)\b[^<>]*?(?:/>|>.*?</\1\s*>)",
        lambda match: "" if "\n" not in match[0] or match[1].lower() != "pre" else "\n",
        text,
        flags=re.DOTALL | re.IGNORECASE,
    )
    return [(len(match[1]), match[2]) for match in _HEADING.finditer(text)]


def normalise(
    wikitext: str, boilerplate: Collection[str] = BOILERPLATE, extra: Mapping[str, Renderer] | None = None
) -> Page:
    """Turn the wikitext of one page into headings and paragraphs.

    Parameters
    ----------
    wikitext
        The whole page.
    boilerplate
        Titles, in lower case, of sections that are left out with their subsections.
    extra
        Templates to render beyond `wikitemplates.RENDERED`, by folded name.

    Raises
    ------
    NormaliseError
        If the headings found are not the heading lines of the markup.
    """
    state = _Reading(extra or {})
    prose = state.read(wikitext)
    blocks = _blocks(prose, state)
    _check_headings(blocks, wikitext, state)
    kept = _without(blocks, boilerplate)
    count = state.lost
    count["boilerplate"] = _length(blocks) - _length(kept)
    characters = {"source": len(wikitext), "kept": _length(kept), **count}
    characters["markup"] = len(wikitext) - characters["kept"] - sum(count.values())
    # a heading without text is no heading
    return Page(
        tuple(block for block in kept if not isinstance(block, Heading) or block.title),
        tuple(dict.fromkeys(state.categories)),
        tuple(f"{title} ({container})" for _, title, container in state.unseen),
        characters,
        dict(state.dropped),
    )


def _length(blocks: Collection[Block]) -> int:
    return sum(len(block.text) for block in blocks if isinstance(block, Paragraph))


class _Reading:
    r"""One page being read: wikicode to text with marks, and the account of what was left out.

    Marks: \x02 level \x02 title for a heading line, \x03 at the start of a list item, \x01 for a line break,
    \x7f n \x7f for literal n (what MediaWiki does not parse), \x04 where a template was left out.
    """

    def __init__(self, extra: Mapping[str, Renderer]) -> None:
        self.extra = extra
        self.lost: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.categories: list[str] = []
        self.unseen: list[tuple[int, str, str]] = []
        self.literals: list[str] = []
        self._known: dict[str, Renderer | None] = {}

    def read(self, wikitext: str) -> str:
        text = _CONTROL.sub("", wikitext.replace("\r\n", "\n"))
        text = self._extract(text)
        text = _SWITCH.sub("", text)
        return self.render(mwparserfromhell.parse(text, skip_style_tags=True))

    def _extract(self, text: str) -> str:
        """Take out comments and extension tags, in the order in which they open."""
        parts: list[str] = []
        position = 0
        while (match := _OPENING.search(text, position)) is not None:
            start, tag = match.start(), (match[1] or "").lower()
            parts.append(text[position:start])
            if match[0] == "<!--":
                end = text.find("-->", start)
                end = len(text) if end < 0 else end + 3
                # a comment that is alone on its line takes the line with it, as in MediaWiki
                line = text.rfind("\n", 0, start) + 1
                if text[line:start].strip(" \t") == "" and (after := re.compile(r"[ \t]*\n").match(text, end)) and line:
                    end = after.end()
                self.lost["comments"] += end - start
                position = end
                continue
            if not tag:
                position = match.end()
                continue
            closed = text.find(">", match.end())
            if closed < 0:
                parts.append(text[start : match.end()])
                position = match.end()
                continue
            content, end = "", closed + 1
            if text[closed - 1] != "/":
                closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, closed + 1)
                if closing is None:
                    # never closed: MediaWiki shows it as it stands; the tag itself goes with the other stray ones
                    self.lost["stray"] += closed + 1 - start
                    position = closed + 1
                    continue
                content, end = text[closed + 1 : closing.start()], closing.end()
            parts.append(self._replace(tag, content, end - start))
            position = end
        parts.append(text[position:])
        return "".join(parts)

    def _replace(self, tag: str, content: str, length: int) -> str:
        if tag not in _LITERAL:
            self.lost["references" if tag in {"ref", "references"} else "extensions"] += length
            return ""
        if not content.strip():
            return content
        self.literals.append(html.unescape(content) if tag in {"nowiki", "pre"} else content)
        place = f"\x7f{len(self.literals) - 1}\x7f"
        return PARAGRAPH + place + PARAGRAPH if tag in _BLOCK_LITERAL else place

    def render(self, code: Any) -> str:  # noqa: ANN401 - Wikicode has no types
        """Return the text of wikicode, with marks."""
        parts = []
        for node in code.nodes:
            kind = type(node)
            if kind is Text:
                parts.append(node.value)
            elif (method := _METHODS.get(kind)) is not None:
                parts.append(method(self, node))
        return "".join(parts)

    def _wikilink(self, node: Wikilink) -> str:
        target = str(node.title).strip()
        space, colon, name = target.partition(":")
        if colon and space:
            space = space.strip().lower()
            if space in _FILES:
                return self._drop("files", node, "file")
            if space in _CATEGORIES:
                self.categories.append(" ".join(name.replace("_", " ").split()))
                return self._drop("links", node)
            if node.text is None and space not in _NOT_LANGUAGES and _LANGUAGE.match(target[: target.index(":")]):
                return self._drop("links", node)
        if node.text is not None:
            text = self.render(node.text)
            # the pipe trick, where it was not expanded when the page was saved
            return text if text.strip() else re.sub(r"\s*\([^()]*\)$|,.*$", "", target.rpartition(":")[2])
        if target.startswith(":"):
            target = target[1:]
            space, colon, name = target.partition(":")
            if colon and (space.lower() in _CATEGORIES | _FILES or _LANGUAGE.match(space)):
                target = name
        return self.render(node.title) if "{" in target else target.replace("_", " ") if "_" in target else target

    def _external(self, node: ExternalLink) -> str:
        if node.title is not None:
            return self.render(node.title)
        return "" if node.brackets else str(node.url)

    def _entity(self, node: HTMLEntity) -> str:
        return html.unescape(str(node)).replace("\x7f", "")

    def _heading(self, node: HeadingNode) -> str:
        title = " ".join(self.render(node.title).replace("\x01", " ").split())
        return f"\n\x02{node.level}\x02{title}\n"

    def _argument(self, node: Argument) -> str:
        return "" if node.default is None else self.render(node.default)

    def _markup(self, node: Tag) -> str:
        """Return what stands for a list item, a table or a rule in wikitext."""
        if node.wiki_markup[0] in _LISTS:
            return ITEM
        if node.wiki_markup.startswith("{|"):
            return self._drop("tables", node, "table")
        return "\n" if node.contents is None else self.render(node.contents)

    def _tag(self, node: Tag) -> str:
        if node.wiki_markup:
            return self._markup(node)
        name = str(node.tag).strip().lower()
        if name in _EMPTY_TAGS:
            return _EMPTY_TAGS[name]
        if name in _DROPPED_TAGS:
            return self._drop("tables" if name == "table" else "extensions", node, name)
        if node.attributes and "display:none" in str(node.attributes).replace(" ", ""):
            return self._drop("extensions", node, "hidden text")
        inside = "" if node.contents is None else self.render(node.contents)
        return f"{PARAGRAPH}{inside}{PARAGRAPH}" if name in _BLOCK_TAGS else inside

    def _template(self, node: Template) -> str:
        name = str(node.name)
        if name not in self._known:
            self._known[name] = renderer(name, self.extra)
        render = self._known[name]
        if render is not None:
            return render(Arguments({str(p.name).strip(): p.value for p in node.params}, self.render)) or GAP
        function, colon, value = name.strip().partition(":")
        if colon and function.lower() in FUNCTIONS:
            return self.render(node.name).partition(":")[2].strip() if "{" in value else value.strip()
        text = str(node)
        self.dropped[fold(name)] += len(text)
        return self._drop("templates", text, f"template {fold(name)}") or GAP

    def _drop(self, group: str, node: object, container: str = "") -> str:
        text = str(node)
        self.lost[group] += len(text)
        if container and "\n=" in text:
            self.unseen += [(len(match[1]), match[2], container) for match in _HEADING.finditer(text)]
        return ""


_METHODS: Mapping[type, Any] = {
    Wikilink: _Reading._wikilink,
    ExternalLink: _Reading._external,
    HTMLEntity: _Reading._entity,
    HeadingNode: _Reading._heading,
    Argument: _Reading._argument,
    Tag: _Reading._tag,
    Template: _Reading._template,
}


def _apart(literal: str) -> str:
    """Put a space into the pairs that look like markup in a text with literals (in TeX it means nothing)."""
    return re.sub(
        r"(?<=\{)(?=[{|])|(?<=[}|])(?=\})|(?<=\[)(?=\[)|(?<=\])(?=\])|(?<=')(?=')|(?<=<)(?=ref\b)", " ", literal
    )


def _blocks(prose: str, state: _Reading) -> list[Block]:
    """Cut text with marks into headings and paragraphs: a blank line, a heading or a list item ends a paragraph."""
    blocks: list[Block] = []
    lines: list[str] = []

    def flush() -> None:
        if lines:
            text = _clean(" ".join(lines), state)
            lines.clear()
            if text:
                blocks.append(Paragraph(text))

    for line in _BREAK.sub(PARAGRAPH, prose).split("\n"):
        if line.startswith("\x02"):
            flush()
            _, level, title = line.split("\x02", 2)
            blocks.append(Heading(int(level), _clean(_whole(title, state), state)))
        elif line.startswith("\x03"):
            flush()
            lines.append(_whole(line[1:], state))
            flush()
        elif line.strip(" \t\xa0\x04"):
            lines.append(_whole(line, state))
        else:
            flush()
    flush()
    return blocks


def _whole(line: str, state: _Reading) -> str:
    """Return a line without quotes and without broken file and category links, which end with their line."""
    if "|" in line or "[" in line:
        kept = _BROKEN_LINK.sub("", line)
        state.lost["stray"] += len(line) - len(kept)
        line = kept
    return _unquoted(line)


def _unquoted(line: str) -> str:
    """Remove the quotes of bold and italic from a line as MediaWiki reads them, and no other apostrophe."""
    if "''" not in line:
        return line
    parts = _QUOTES.split(line)
    runs = [len(part) for part in parts[1::2]]
    literal = [{4: 1}.get(run, max(0, run - 5)) for run in runs]
    runs = [3 if run == 4 else min(run, 5) for run in runs]
    italics, bolds = sum(run != 3 for run in runs), sum(run != 2 for run in runs)
    if italics % 2 and bolds % 2:
        # one bold is an apostrophe before an italic (l'''amour''): the first after a one-letter word, else after a
        # longer word, else after a space
        befores = {index: parts[2 * index][-2:] for index, run in enumerate(runs) if run == 3}
        ranks = {
            index: 2 if before[-1:] == " " else 0 if len(before) == 1 or before[-2:-1] == " " else 1
            for index, before in befores.items()
        }
        if ranks:
            chosen = min(ranks, key=lambda index: (ranks[index], index))
            literal[chosen] += 1
    return "".join(part if index % 2 == 0 else "'" * literal[index // 2] for index, part in enumerate(parts))


def _clean(text: str, state: _Reading) -> str:
    """Return text without stray markup, marks and double spaces, its literals put back."""
    before = len(text)
    if "<" in text:
        text = _HTML.sub("", text)
    while _STRAY.search(text):
        # what is taken out may bring two halves together
        text = _STRAY.sub(lambda match: _UNTANGLED.get(match[0][0], ""), text)
    if "]]" in text and text.count("[") != text.count("]"):
        text = re.sub(r"\]{2,}", "]", text)
    state.lost["stray"] += before - len(text)
    if "\x7f" in text:
        text = _apart(_PLACE.sub(lambda match: state.literals[int(match[1])], text))
    text = _INVISIBLE.sub("", text)
    if GAP in text:
        text = _HOLLOW.sub("", text)
    return " ".join(text.split())


def _check_headings(blocks: list[Block], wikitext: str, state: _Reading) -> None:
    """Refuse a page whose headings are not the heading lines of its markup."""
    found = [block.rank for block in blocks if isinstance(block, Heading)]
    counted = heading_levels(wikitext)
    if found == [level for level, _ in counted]:
        return
    unseen = Counter((level, title) for level, title, _ in state.unseen)
    expected = []
    for level, title in counted:
        if unseen[level, title]:
            unseen[level, title] -= 1
        else:
            expected.append((level, title))
    if found != [level for level, _ in expected]:
        ranks = [*found, *[0] * len(expected)]
        differing = (title for rank, (level, title) in zip(ranks, expected, strict=False) if rank != level)
        where = next(differing, "after the last one")
        raise NormaliseError(
            f"headings: {len(found)} found, {len(expected)} in the markup; the first difference is at {where[:80]!r}"
        )


def _without(blocks: list[Block], boilerplate: Collection[str]) -> list[Block]:
    """Leave out the sections of these titles, with their subsections."""
    kept: list[Block] = []
    dropping: int | None = None
    for block in blocks:
        if isinstance(block, Heading):
            if dropping is not None and block.rank <= dropping:
                dropping = None
            if dropping is None and block.title.casefold().strip(" :") in boilerplate:
                dropping = block.rank
        if dropping is None:
            kept.append(block)
    return kept

"""Pages from pages-articles XML dumps (``.xml`` or ``.xml.bz2``), read as a stream.

A seeded walk takes pages in an order of its own, a dump has another, and does not fit into memory: candidates are
put, compressed, into a temporary file while the dump streams by, and are read from there as the walk asks for them.
"""

from __future__ import annotations

import bz2
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from docstructure.corpora.corpus import CorpusError, Item
from docstructure.corpora.wikipage import RawPage

_BZIP2 = b"BZh"


@dataclass(frozen=True)
class Options:
    """Options of the ``dump`` source.

    Parameters
    ----------
    path
        Dump file, or a list of them (a dump comes in parts).
    """

    path: str | Sequence[str]

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("wikipedia source dump: path is empty; name a pages-articles .xml or .xml.bz2 file")

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(Path(path) for path in ([self.path] if isinstance(self.path, str) else self.path))


class DumpSource:
    """The candidates of a dump: articles that are no redirects and, where asked for, bear one of `templates`.

    Parameters
    ----------
    options
        Where the dump is.
    templates
        Names of the templates of which a candidate bears one; empty for every article.
    """

    ordered = False

    def __init__(self, options: Options, templates: Sequence[str]) -> None:
        self._spool: IO[bytes] = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - closed by finish()
        self._index: dict[str, tuple[int, int, str, str]] = {}
        self._passed: Counter[str] = Counter()
        self._wanted = template_pattern(templates) if templates else None
        for path in options.paths:
            if not path.is_file():
                raise CorpusError(f"wikipedia source dump: {path}: no such file")
        for path in options.paths:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                packed = file.read(len(_BZIP2)) == _BZIP2
            with bz2.open(path) if packed else path.open("rb") as stream:
                self._stream(cast("IO[bytes]", stream), path)
        except (EOFError, OSError, ElementTree.ParseError) as error:
            raise CorpusError(
                f"{path}: not a whole pages-articles XML dump ({type(error).__name__}: {error}); "
                "check its checksum against the one that dumps.wikimedia.org gives"
            ) from None

    def _stream(self, stream: IO[bytes], path: Path) -> None:
        base = ""
        events = iter(ElementTree.iterparse(stream, events=("start", "end")))
        _, root = next(events)
        if _local(root) != "mediawiki":
            raise CorpusError(f"{path}: its root is <{_local(root)}>, not <mediawiki>; it is not a pages-articles dump")
        for event, element in events:
            if event == "start":
                continue
            name = _local(element)
            if name == "base":
                base = element.text or ""
            elif name == "page":
                self._take(element, base)
                # what has been read is let go, or memory holds the whole dump
                root.clear()

    def _take(self, page: ElementTree.Element, base: str) -> None:
        fields = {_local(child): child for child in page}
        revision = fields.get("revision")
        title = _content(fields.get("title"))
        if _content(fields.get("ns")) not in {"", "0"}:
            self._passed["other_namespace"] += 1
            return
        parts = {} if revision is None else {_local(child): child for child in revision}
        text = _content(parts.get("text"))
        if "redirect" in fields or is_redirect(text):
            self._passed["redirect"] += 1
            return
        if self._wanted is not None and not self._wanted.search(text):
            self._passed["not_featured"] += 1
            return
        number = _content(parts.get("id"))
        held = self._index.get(title)
        # parts of a dump may overlap: the newest revision counts
        if held is not None and int(held[2] or 0) >= int(number or 0):
            return
        packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        self._spool.seek(0, 2)
        self._index[title] = (self._spool.tell(), len(packed), number, _address(base, title, number))
        self._spool.write(packed)

    def titles(self) -> Sequence[str]:
        """Return the titles of the candidates."""
        return list(self._index)

    def pages(self, titles: Sequence[str]) -> Iterator[RawPage]:
        """Yield the pages of these titles, in their order."""
        for title in titles:
            offset, length, revision, address = self._index[title]
            self._spool.seek(offset)
            text = zlib.decompress(self._spool.read(length)).decode("utf-8", "surrogatepass")
            yield RawPage(title, title, text, revision, address)

    def items(self) -> Sequence[Item]:
        """Return how many pages the dump has of each kind that is no candidate, and how many candidates."""
        passed = [Item(code, kept=False, reason=f"{count} pages") for code, count in sorted(self._passed.items())]
        return [Item("listed", kept=True, reason=f"{len(self._index)} pages"), *passed]

    def finish(self) -> None:
        """Remove the temporary file."""
        self._spool.close()


def open_source(options: Options, templates: Sequence[str]) -> DumpSource:
    """Read the dump and open the source."""
    return DumpSource(options, templates)


def template_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds a use of one of these templates."""
    words = "|".join(r"[ _]+".join(map(re.escape, name.replace("_", " ").split())) for name in names)
    return re.compile(rf"\{{\{{\s*(?:template:\s*)?(?:{words})\s*(?:\||\}}\}})", re.IGNORECASE)


def is_redirect(text: str) -> bool:
    """Return whether wikitext is a redirect."""
    return text[:40].lstrip().lower().startswith("#redirect")


def _local(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _content(element: ElementTree.Element[Any] | None) -> str:
    return "" if element is None else element.text or ""


def _address(base: str, title: str, revision: str) -> str:
    parts = urlsplit(base)
    if not parts.netloc:
        return title
    return (
        f"{parts.scheme}://{parts.netloc}/w/index.php?title={quote(title.replace(' ', '_'), safe='')}&oldid={revision}"
    )

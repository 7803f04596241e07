"""Reading the files of a corpus: decoded once, kept to the character, addressed by the offsets of whoever made them."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from docstructure.corpora.corpus import CorpusError, Paragraph
from docstructure.spans import Span

BOM = "\ufeff"
NEWLINES = ("universal", "kept")

_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class SourceText:
    r"""A decoded text file with ``\n`` line ends, and how offsets made elsewhere address it.

    Parameters
    ----------
    path
        The file, for messages.
    text
        Its characters. Every line end is one ``\n``; a byte order mark is the first character unless the encoding
        takes it away (``utf-8-sig``).
    length
        Characters of the file as its offsets count them.
    line_ends
        Offsets one past each ``\r\n`` of the file where offsets count it as two characters, else empty.
    had_crlf
        Whether the file has line ends of two characters, for messages.
    """

    path: str
    text: str
    length: int
    line_ends: tuple[int, ...] = ()
    had_crlf: bool = False

    def locate(self, start: object, end: object, where: str) -> Span:
        """Translate a span of the file into a span of `text`.

        Raises
        ------
        CorpusError
            If the span is not two whole numbers with ``0 <= start < end <= length``; the message begins with `where`.
        """
        if not _is_offset(start) or not _is_offset(end):
            raise CorpusError(f"{where}: a span is two whole numbers, not {start!r} and {end!r}")
        if not 0 <= start < end <= self.length:
            raise CorpusError(
                f"{where}: span [{start}, {end}) is empty or outside the {self.length} characters of {self.path}"
            )
        return start - bisect_right(self.line_ends, start), end - bisect_right(self.line_ends, end)

    def check(self, span: Span, expected: object, where: str) -> None:
        """Refuse a span of `text` that does not read, to the character, what its source says it does."""
        if not isinstance(expected, str):
            raise CorpusError(f"{where}: the text of a span is a string, not {expected!r}")
        found = self.text[slice(*span)]
        if universal(found) == universal(expected):
            return
        hints = []
        if self.text.startswith(BOM):
            hints.append(
                "the file begins with a byte order mark, which counts as a character unless encoding is utf-8-sig"
            )
        if self.had_crlf:
            hints.append("the file has CRLF line ends: see option newlines for how offsets count them")
        more = f" ({'; '.join(hints)})" if hints else ""
        raise CorpusError(
            f"{where}: {self.path} [{span[0]}, {span[1]}) reads {_short(found)}, not {_short(expected)}{more}"
        )


def _is_offset(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "…")


def universal(text: str) -> str:
    r"""Return `text` with every line end as one ``\n``, as Python reads text files."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_reading(encoding: str, newlines: str) -> None:
    """Refuse option values that name no encoding or no way to count line ends."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(
            f"encoding: {encoding!r} is not an encoding; the usual ones are utf-8, utf-8-sig, cp1252"
        ) from None
    if newlines not in NEWLINES:
        raise ValueError(f"newlines: {newlines!r} is none of {', '.join(NEWLINES)}")


def decode(path: str | Path, encoding: str = "utf-8") -> str:
    """Read a whole text file without touching its line ends.

    Raises
    ------
    CorpusError
        If there is no such file, or it is not in `encoding`; the message names the first bad byte.
    """
    try:
        return Path(path).read_bytes().decode(encoding)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise CorpusError(f"{path}: no such file") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeError as error:
        place = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise CorpusError(f"{path}: not {encoding}{place}; save it as UTF-8") from None


def read_source(path: str | Path, encoding: str = "utf-8", newlines: str = "universal") -> SourceText:
    """Read a text file that offsets point into.

    Parameters
    ----------
    newlines
        How the offsets were counted: ``universal`` (the tool read the file in text mode, where CRLF is one character)
        or ``kept`` (CRLF is two characters).
    """
    raw = decode(path, encoding)
    text = universal(raw)
    if newlines == "universal" or len(text) == len(raw):
        return SourceText(str(path), text, len(text), had_crlf=len(text) != len(raw))
    ends, position = [], raw.find("\r\n")
    while position >= 0:
        ends.append(position + 2)
        position = raw.find("\r\n", position + 2)
    return SourceText(str(path), text, len(raw), tuple(ends), had_crlf=True)


def read_json(path: str | Path) -> object:
    """Read a JSON file in UTF-8, with or without a byte order mark."""
    text = decode(path, "utf-8-sig")
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from None
    except CorpusError as error:
        raise CorpusError(f"{path}: {error}") from None


def parse_json(text: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> object:
    r"""Parse JSON whose every string can be written as UTF-8; `hook` is json's ``object_pairs_hook``.

    Raises
    ------
    json.JSONDecodeError
        If it is not JSON.
    CorpusError
        If it is nested too deeply or has a number too long to read, or a string holds a lone surrogate
        (``"\ud800"``); the message names the item, and the caller names the file.
    """
    try:
        content: object = json.loads(text, object_pairs_hook=hook)
    except RecursionError:
        raise CorpusError("the JSON is nested too deeply") from None
    except (json.JSONDecodeError, CorpusError):
        raise
    except ValueError as error:
        raise CorpusError(f"not JSON: {error}") from None
    # Decoded text has no half of a pair: only an escape can make one, and hardly a file has those.
    damaged = _find_half(content) if _HALF_ESCAPE.search(text) else None
    if damaged is not None:
        raise CorpusError(f"{damaged}: half of a surrogate pair; the text is damaged")
    return content


def is_damaged(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which no UTF-8 file can."""
    return _HALF.search(text) is not None


def _find_half(content: object) -> str | None:
    """Return the place (``tests[3].query``) of the first string that holds a lone surrogate."""
    # No recursion: what json can nest is deeper than what Python may call.
    waiting: list[tuple[str, object]] = [("", content)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and is_damaged(value):
            return place or "the text"
        if isinstance(value, dict):
            for key in value:
                if is_damaged(key):
                    return f"{place}: key {key!a}".removeprefix(": ")
            waiting += [(f"{place}.{key}".removeprefix("."), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [(f"{place}[{index}]", value[index]) for index in reversed(range(len(value)))]
    return None


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number (from 1) and object of each line of a JSON Lines file; blank lines are skipped."""
    for number, line in enumerate(decode(path, "utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{path}, line {number}: not JSON: {error.msg} at column {error.colno}") from None
        except CorpusError as error:
            raise CorpusError(f"{path}, line {number}: {error}") from None
        if not isinstance(row, dict):
            raise CorpusError(f"{path}, line {number}: a JSON object is expected, not {_short(line.strip())}")
        yield number, row


def take_text(row: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    """Return the text under `key`; without a default it must be there and not be blank."""
    value = row.get(key, default)
    if value is None and default is not None:
        value = default
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise CorpusError(
            f"{where}: {key} must be {'a' if default is not None else 'a non-blank'} string, not {value!r}"
        )
    return value


def identifier(name: str) -> str:
    """Return `name` as an id: without white space around it, and ``_`` for each run of white space inside."""
    return "_".join(name.split())


def paragraphs_at(text: str, start: int = 0, end: int | None = None) -> Iterator[Paragraph]:
    """Yield the paragraphs of ``text[start:end]``, verbatim: runs of lines with text between blank lines.

    A paragraph keeps its indentation and inner line ends; the line end after its last line is not part of it.
    """
    end = len(text) if end is None else end
    if start == 0 and text.startswith(BOM):
        start = 1
    opened: int | None = None
    closed = start
    for left, right in lines_at(text, start, end):
        if text[left:right].strip():
            opened = left if opened is None else opened
            closed = right
        elif opened is not None:
            yield Paragraph(text[opened:closed], opened)
            opened = None
    if opened is not None:
        yield Paragraph(text[opened:closed], opened)


def lines_at(text: str, start: int, end: int) -> Iterator[Span]:
    r"""Yield the span of each line of ``text[start:end]`` without its line end (``\n`` or ``\r\n``)."""
    while start < end:
        stop = text.find("\n", start, end)
        following = end if stop < 0 else stop + 1
        stop = end if stop < 0 else stop
        if stop > start and text[stop - 1] == "\r":
            stop -= 1
        yield start, stop
        start = following

"""Finding quoted evidence in a document: exactly once, or a reason why not."""

from __future__ import annotations

import re

from docstructure.spans import Span


def find_quote(text: str, quote: str) -> list[Span]:
    """Return every place where `quote` stands in `text`, overlapping ones included.

    Runs of white space count as equal, so that a quote copied from a wrapped line is found; all else must be equal to
    the character. Spans are characters of `text`.
    """
    words = quote.split()
    if not words:
        return []
    pattern = re.compile(r"(?=(" + r"\s+".join(map(re.escape, words)) + r"))")
    return [(match.start(1), match.end(1)) for match in pattern.finditer(text)]

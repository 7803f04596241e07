"""Sentence spans that tile a text, by sentencex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sentencex

from docstructure.spans import Span


def sentence_spans(text: str, language: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the sentences of ``text[start:end]`` as spans of `text` that tile it.

    White space after a sentence, a blank line included, belongs to that sentence, so that every span but perhaps the
    first begins with a visible character.

    Parameters
    ----------
    text
        The whole text.
    language
        Two-letter code whose abbreviations and marks apply.
    start, end
        Part of the text, in characters.
    """
    stop = len(text) if end is None else end
    part = text[start:stop]
    spans: list[Span] = []
    # sentencex leaves out a blank line where it blocks a long text (every 10,000 characters) and at the text's end
    boundaries = [(start + found["start_index"], start + found["end_index"]) for found in _boundaries(part, language)]
    for left, right in [*boundaries, (stop, stop)]:
        position = spans[-1][1] if spans else start
        if position < left and text[position:left].isspace():
            spans[-1:] = [(spans[-1][0] if spans else start, left)]
        if left == right:
            continue
        if spans and text[left:right].isspace():
            spans[-1] = (spans[-1][0], right)
        else:
            spans.append((left, right))
    if spans and text[slice(*spans[0])].isspace() and len(spans) > 1:
        spans[:2] = [(spans[0][0], spans[1][1])]
    _assert_tiles(spans, start, stop)
    return spans


def _boundaries(text: str, language: str) -> list[dict[str, Any]]:
    return list(sentencex.get_sentence_boundaries(language, text))


def _assert_tiles(spans: Sequence[Span], start: int, stop: int) -> None:
    position = start
    for left, right in spans:
        if left != position:
            raise AssertionError(f"sentence spans leave a gap or overlap at character {position}")
        position = right
    if position != stop:
        raise AssertionError(f"sentence spans end at {position}, the text at {stop}")

"""What an inducing model is asked to answer with, and how its answer is read (paper H)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docstructure.tree import Proposal

MAX_DEPTH = 9
"""Deepest level that is asked for; the stored level is clamped to less, the path keeps the true depth."""
MAX_TITLE = 120
SHOWN = 120


@dataclass(frozen=True)
class Answer:
    """An answer as it was read.

    Parameters
    ----------
    proposals
        The sections that are written as sections, in the answer's order.
    problems
        Where the answer is not written as it should be: no JSON, no list, an entry of another shape.
    """

    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...] = ()


def schema(n_paragraphs: int) -> dict[str, Any]:
    """Return the JSON schema of the sections of a document with this many paragraphs."""
    properties = {
        "title": {"type": "string", "minLength": 1, "maxLength": MAX_TITLE},
        "level": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
        "par_start": {"type": "integer", "minimum": 0, "maximum": n_paragraphs - 1},
        "par_end": {"type": "integer", "minimum": 0, "maximum": n_paragraphs},
    }
    section = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    # more than one section per paragraph, and a chain of headings, is a model that loops: it is stopped here
    sections = {"type": "array", "minItems": 1, "maxItems": n_paragraphs + MAX_DEPTH, "items": section}
    return {
        "type": "object",
        "properties": {"sections": sections},
        "required": ["sections"],
        "additionalProperties": False,
    }


def read(text: str) -> Answer:
    """Read an answer; whatever it is, what is wrong with it becomes a problem, never an exception."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Answer((), (_short(f"the answer is not JSON: {error or type(error).__name__}"),))
    entries = value.get("sections") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return Answer((), ('the answer is not an object with a list "sections"',))
    proposals, problems = [], []
    for index, entry in enumerate(entries):
        proposal, found = _read_section(entry)
        problems += [_short(f"section {index}: {problem}") for problem in found]
        if proposal is not None:
            proposals.append(proposal)
    return Answer(tuple(proposals), tuple(problems))


def _read_section(entry: object) -> tuple[Proposal | None, list[str]]:
    """Return a section, where there is one, and what is wrong with how it is written."""
    if not isinstance(entry, Mapping):
        return None, [f"it is not an object: {entry!r}"]
    numbers = [entry.get(name) for name in ("level", "par_start", "par_end")]
    title = entry.get("title")
    problems = [
        f"{name} is not an integer: {value!r}"
        for name, value in zip(("level", "par_start", "par_end"), numbers, strict=True)
        if type(value) is not int
    ]
    if not isinstance(title, str):
        problems.append(f"title is not a string: {title!r}")
    if problems or not isinstance(title, str):
        return None, problems
    level, par_start, par_end = (int(value or 0) for value in numbers)
    if level > MAX_DEPTH:
        problems.append(f"level {level} is deeper than {MAX_DEPTH}")
    if len(title) > MAX_TITLE:
        problems.append(f"the title has {len(title)} characters, at most {MAX_TITLE} are allowed")
    # an escape may stand for half of a surrogate pair, which no file takes
    legible = title[:MAX_TITLE].encode("utf-8", "replace").decode("utf-8")
    return Proposal(legible, min(level, MAX_DEPTH), par_start, par_end), problems


def _short(problem: str) -> str:
    return problem if len(problem) <= SHOWN else problem[: SHOWN - 1] + "…"

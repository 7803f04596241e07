"""Conditions in words: what each of them does, and which question the difference of two of them answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Definitions = Mapping[str, Any]
"""A condition's definitions, each ``{kind: options}``, as provenance.json holds them."""


def kind(definitions: Definitions, noun: str) -> str:
    """Return the kind of one of a condition's parts: ``windows``, ``path``, ``two_stage`` ..."""
    return str(next(iter(definitions.get(noun) or {"": None})))


def describe(definitions: Definitions) -> str:
    """Return a condition in a few words: boundaries, prefix, retrieval."""
    parts = [_boundaries(definitions), _prefix(definitions), _retrieval(definitions)]
    return ", ".join(part for part in parts if part)


def _options(definitions: Definitions, noun: str) -> Mapping[str, Any]:
    return definitions.get(noun, {}).get(kind(definitions, noun)) or {}


def _structure(definitions: Definitions) -> str:
    return str(_options(definitions, "boundaries").get("structure", ""))


def _boundaries(definitions: Definitions) -> str:
    if kind(definitions, "boundaries") != "sections":
        return "fixed windows"
    if kind(definitions, "structure") == "native":
        return "the author's sections"
    return f"sections by {_structure(definitions)}"


def _prefix(definitions: Definitions) -> str:
    options = _options(definitions, "prefix")
    depth = f" (depth {options['depth']})" if "depth" in options else ""
    return {
        "path": f"heading path{depth}",
        "placebo": f"another document's heading path{depth}",
        "context": f"context by {options.get('contextualizer', 'an LLM')}",
    }.get(kind(definitions, "prefix"), "")


def _retrieval(definitions: Definitions) -> str:
    return "two-stage" if kind(definitions, "retrieval") == "two_stage" else ""


# (what changes, kind of the last of it in the minuend, and in the subtrahend) -> name and question.
MECHANISMS = {
    (("retrieval",), "two_stage", "flat"): (
        "Two-stage routing",
        "Does routing to sections first beat flat search over the same index?",
    ),
    (("prefix",), "path", "placebo"): (
        "Content of the heading path",
        "Does what the heading path says help, beyond the tokens that it adds?",
    ),
    (("prefix",), "path", "none"): ("Heading path", "Does a heading path before each chunk help?"),
    (("prefix",), "context", "none"): ("Generated context", "Does a generated context before each chunk help?"),
    (("prefix",), "placebo", "none"): (
        "Tokens alone",
        "Does another document's heading path help: are added tokens enough?",
    ),
    (("boundaries", "prefix"), "path", "context"): (
        "Structure against generated context",
        "Do structural chunks with heading paths beat generated contexts on fixed windows?",
    ),
}


def mechanism(minuend: Definitions | None, subtrahend: Definitions | None) -> tuple[str, str]:
    """Return the name of what differs between two conditions, and the question that their difference answers.

    Parameters
    ----------
    minuend, subtrahend
        Definitions of the two conditions; None where no cell of this run has them.
    """
    if minuend is None or subtrahend is None:
        return "Contrast", "Does the first condition score higher than the second?"
    changed = tuple(noun for noun in ("boundaries", "prefix", "retrieval") if minuend.get(noun) != subtrahend.get(noun))
    if changed == ("boundaries",):
        return _boundary_mechanism(minuend, subtrahend)
    kinds = (kind(minuend, changed[-1]), kind(subtrahend, changed[-1])) if changed else ("", "")
    other = ("Contrast", f"Does “{describe(minuend)}” score higher than “{describe(subtrahend)}”?")
    return MECHANISMS.get((changed, *kinds), other)


def _boundary_mechanism(minuend: Definitions, subtrahend: Definitions) -> tuple[str, str]:
    if kind(subtrahend, "boundaries") == "windows":
        return "Structural boundaries", f"Do {_boundaries(minuend)} beat fixed windows of equal size?"
    return "Source of the structure", f"Do {_boundaries(minuend)} beat {_boundaries(subtrahend)}?"

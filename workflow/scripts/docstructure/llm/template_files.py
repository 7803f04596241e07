"""The files of the prompt templates and the versions that they state; nothing is compiled here."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

PROMPTS = Path(__file__).resolve().parents[4] / "resources" / "prompts"

_VERSION = re.compile(r"\{# version: ([A-Za-z0-9.]+) #\}\n")


class TemplateError(ValueError):
    """A template is missing or not written as one; the message names the file."""


def path_of(name: str) -> Path:
    """Return the file of a template."""
    return PROMPTS / f"{name}.jinja"


def versions() -> dict[str, dict[str, str]]:
    """Return version and SHA-256 of every template, for provenance; nothing is compiled."""
    found = {}
    for path in sorted(PROMPTS.glob("*.jinja")):
        content = path.read_bytes()
        found[path.stem] = {"version": version_of(path, content)[0], "sha256": hashlib.sha256(content).hexdigest()}
    return found


def version_of(path: Path, content: bytes) -> tuple[str, str]:
    """Return the version that a template states, and what follows it."""
    source = content.decode("utf-8")
    head = _VERSION.match(source)
    if head is None:
        raise TemplateError(f"{path}: its first line is not a version, as {{# version: 1 #}}")
    return head.group(1), source[head.end() :]

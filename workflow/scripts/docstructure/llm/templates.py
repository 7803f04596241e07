"""Prompts: Jinja templates in resources/prompts, rendered to chat messages.

A template's first line is its version, a comment of its own; every message begins with a comment naming its role::

    {# version: 1 #}
    {# message: system #}
    You ...
    {# message: user #}
    {{ text }}

The white space around a message is cut; a message that comes out empty is left out. A variable that the template uses
and the caller does not give is an error. What is rendered is the prompt, so a template's bytes are part of every cache
key through the prompts that it makes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docstructure.llm.request import Messages
from docstructure.llm.template_files import TemplateError, path_of, version_of

if TYPE_CHECKING:
    from jinja2 import Template

ROLES = ("system", "user", "assistant")

_MESSAGE = re.compile(r"^\{# message: ([a-z]+) #\}\n", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A template as it is on disk.

    Parameters
    ----------
    name
        File name without suffix.
    version
        From its first line.
    parts
        Role and compiled body of each message.
    """

    name: str
    version: str
    parts: tuple[tuple[str, Template], ...]

    def render(self, values: Mapping[str, object]) -> Messages:
        """Return the messages of these values."""
        rendered = ((role, template.render(values).strip()) for role, template in self.parts)
        return tuple((role, content) for role, content in rendered if content)


def render(name: str, **values: object) -> Messages:
    """Render resources/prompts/{name}.jinja.

    Raises
    ------
    TemplateError
        If there is no such template, or it is not written as one.
    jinja2.UndefinedError
        If it uses a value that is not given.
    """
    return load(path_of(name)).render(values)


@cache
def load(path: Path) -> Prompt:
    """Read a template file."""
    from jinja2 import Environment, StrictUndefined

    if not path.is_file():
        raise TemplateError(f"prompt template {path} does not exist")
    content = path.read_bytes()
    stated, body = version_of(path, content)
    before, *pieces = _MESSAGE.split(body)
    roles, bodies = pieces[::2], pieces[1::2]
    if before.strip() or not roles or not set(roles) <= set(ROLES):
        raise TemplateError(
            f"{path}: after its version come messages, each after a line {{# message: role #}} with a role of "
            f"{', '.join(ROLES)}; found {', '.join(roles) or 'none'}"
        )
    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)
    parts = tuple((role, environment.from_string(text)) for role, text in zip(roles, bodies, strict=True))
    return Prompt(path.stem, stated, parts)

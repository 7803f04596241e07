"""No prefix."""

from __future__ import annotations

from dataclasses import dataclass

from docstructure.prefixes.prefix import Given, Inputs
from docstructure.tokens import Tokenizer


@dataclass(frozen=True)
class Options:
    """Nothing to choose."""


@dataclass(frozen=True)
class Nothing:
    """The empty prefix."""

    text: str = ""

    def shortened(self, limit: int, tokenizer: Tokenizer) -> str:
        """Return the empty prefix."""
        return ""


def render(options: Options, inputs: Inputs) -> list[Given]:
    """Give every chunk the empty prefix."""
    return [Given(Nothing())] * inputs.chunks.height

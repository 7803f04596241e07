"""The chunk's situating context: condition A1 (paper 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from docstructure.prefixes.prefix import Given, Inputs, PrefixError
from docstructure.tokens import Tokenizer

AFTER = "\n\n"
"""A blank line parts the context from the content, as it parts paragraphs."""


@dataclass(frozen=True)
class Options:
    """Which contexts.

    Parameters
    ----------
    contextualizer
        Name of the contextualizer.
    """

    contextualizer: str


@dataclass(frozen=True)
class Situation:
    """A context as prefix.

    Parameters
    ----------
    context
        One line; empty where the chunk has none.
    """

    context: str

    @property
    def text(self) -> str:
        """The context and the blank line after it."""
        return self.context + AFTER if self.context else ""

    def shortened(self, limit: int, tokenizer: Tokenizer) -> str:
        """Return the context cut at its end between words (inside its first word if need be)."""
        return Situation(tokenizer.head(self.context, limit).rstrip()).text


def render(options: Options, inputs: Inputs) -> list[Given]:
    """Give every chunk its context; none where there is nothing to say.

    Raises
    ------
    PrefixError
        If contexts are not given, a chunk has no row there, or its context failed: without one it would be embedded
        as if it were of another condition.
    """
    if inputs.contexts is None:
        raise PrefixError(f"prefix context: the contexts of {options.contextualizer} are not given")
    contexts = dict(inputs.contexts.select("chunk_id", "context").iter_rows())
    missing = [chunk_id for chunk_id in inputs.chunks["chunk_id"] if chunk_id not in contexts]
    if missing:
        raise PrefixError(
            f"contexts of {options.contextualizer}: chunk {missing[0]} has no row ({len(missing)} such chunks)"
        )
    failed = inputs.chunks.join(inputs.contexts.filter(pl.col("status") == "failed"), on="chunk_id", how="semi")
    if failed.height:
        raise PrefixError(
            f"contexts of {options.contextualizer}: chunk {failed['chunk_id'][0]} has none, since its request failed "
            f"({failed.height} such chunks); list these contexts in the corpus's eligibility.contexts, which withholds "
            "their documents from every index"
        )
    return [Given(Situation(" ".join(contexts[chunk_id].split()))) for chunk_id in inputs.chunks["chunk_id"]]

"""What every kind of prefix takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import polars as pl

from docstructure.tokens import Tokenizer


class PrefixError(ValueError):
    """A prefix cannot be made from the inputs; the message says which one is wrong."""


class Prefix(Protocol):
    """A prefix that can be rendered whole, or shorter by its kind's rule. Equal prefixes are equal objects."""

    @property
    def text(self) -> str:
        """The prefix as it is put before the content, white space at its end included; empty for none."""
        ...

    def shortened(self, limit: int, tokenizer: Tokenizer) -> str:
        """Return the prefix cut by its rule to at most `limit` tokens; empty where nothing of it fits."""
        ...


@dataclass(frozen=True)
class Inputs:
    """What prefixes are made from.

    Parameters
    ----------
    documents
        ``doc_id`` and ``title``.
    chunks
        By the chunks contract.
    contexts
        By the contexts contract; None unless the kind needs it.
    separator
        Between two elements of a heading path.
    """

    documents: pl.DataFrame
    chunks: pl.DataFrame
    contexts: pl.DataFrame | None
    separator: str


@dataclass(frozen=True)
class Given:
    """The prefix that a chunk is given.

    Parameters
    ----------
    prefix
        The prefix.
    donor_doc_id
        Document that it was taken from; None where it is the chunk's own.
    """

    prefix: Prefix
    donor_doc_id: str | None = None

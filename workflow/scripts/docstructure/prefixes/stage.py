"""The stage that writes a view: the prefix of every chunk, as it is embedded and charged to budgets."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.views import VIEWS
from docstructure.prefixes import PREFIXES
from docstructure.prefixes.prefix import Given, Inputs
from docstructure.tokens import Tokenizer, load_tokenizer

LOG = logging.getLogger(__name__)


def build_view(
    *,
    definition: Mapping[str, Any],
    documents: str,
    chunks: str,
    contexts: str | None,
    tokenizer: Mapping[str, Any],
    separator: str,
    max_tokens: int,
    view: str,
) -> None:
    """Write the prefix of every chunk.

    Parameters
    ----------
    definition
        The prefix, ``{kind: {options}}``; ``{}`` is no prefix.
    documents, chunks, contexts
        Paths of the inputs; contexts for the kind ``context`` only.
    tokenizer
        The study's tokenizer, as `docstructure.models.locate` takes it.
    separator
        Between two elements of a heading path.
    max_tokens
        Most tokens that prefix and content may have together: the embedders' limit less their special tokens.
    view
        Path of the output.
    """
    options, render = PREFIXES.resolve(definition or {"none": {}})
    inputs = Inputs(
        documents=DOCUMENTS.read(documents, columns=["doc_id", "title"]),
        chunks=CHUNKS.read(chunks),
        contexts=None if contexts is None else CONTEXTS.read(contexts),
        separator=separator,
    )
    frame = fit(render(options, inputs), inputs.chunks, load_tokenizer(tokenizer), max_tokens)
    LOG.info(
        "%d chunks: %d prefixes truncated, %d contents alone above %d tokens",
        frame.height,
        frame["prefix_truncated"].sum(),
        inputs.chunks.filter(pl.col("n_tokens") > max_tokens).height,
        max_tokens,
    )
    VIEWS.write(frame, view)


def fit(given: Sequence[Given], chunks: pl.DataFrame, tokenizer: Tokenizer, max_tokens: int) -> pl.DataFrame:
    """Return the view: prefixes counted, and shortened where prefix and content would exceed `max_tokens`.

    A prefix ends in white space, so that its own tokens are what it adds to the content's: a WordPiece word never
    reaches across. The content is never cut.

    Parameters
    ----------
    given
        The prefix of each chunk, in order.
    chunks
        By the chunks contract.
    tokenizer
        The study's tokenizer.
    max_tokens
        Most tokens of prefix and content together.
    """
    texts = [one.prefix.text for one in given]
    lengths = _counts(texts, tokenizer)
    truncated = [False] * len(texts)
    for index, n_tokens in enumerate(chunks["n_tokens"]):
        room = max_tokens - n_tokens
        if lengths[texts[index]] > room:
            truncated[index] = texts[index] != ""
            texts[index] = given[index].prefix.shortened(room, tokenizer) if room > 0 else ""
    lengths |= _counts([text for text in texts if text not in lengths], tokenizer)
    texts = [text if lengths[text] else "" for text in texts]
    return VIEWS.frame(
        {
            "chunk_id": chunks["chunk_id"],
            "prefix": texts,
            "n_prefix_tokens": [lengths[text] for text in texts],
            "prefix_truncated": truncated,
            "donor_doc_id": [one.donor_doc_id for one in given],
        }
    )


def _counts(texts: Sequence[str], tokenizer: Tokenizer) -> dict[str, int]:
    """Return the tokens of each distinct text; the empty one is always there."""
    distinct = list(dict.fromkeys(["", *texts]))
    return dict(zip(distinct, tokenizer.counts(distinct).tolist(), strict=True))

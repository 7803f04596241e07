"""Flat retrieval: rank all chunks of the index, or of the query's own document."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from docstructure.contracts.routing import ROUTING
from docstructure.retrieval.index import Index, Queries, check_scope, chunk_ranking, search_scope


@dataclass(frozen=True)
class Options:
    """Options of flat retrieval.

    Parameters
    ----------
    scope
        ``corpus`` searches the whole index, ``document`` the chunks of the query's own document.
    """

    scope: str = "corpus"

    def __post_init__(self) -> None:
        check_scope(self.scope)


def rank(
    options: Options, index: Index, queries: Queries, top_k: int, threads: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the ranking of each query, and an empty routing."""
    hits = search_scope(index, queries, options.scope, top_k, threads)
    return chunk_ranking(index, queries, hits), ROUTING.frame([])

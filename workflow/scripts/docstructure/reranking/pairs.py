"""What a reranker takes and returns: pairs of distinct queries and passages, and a score for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docstructure.embedders.encoder import EncoderOptions


@dataclass(frozen=True, kw_only=True)
class RerankerOptions(EncoderOptions):
    """What every reranker is told, besides what every transformer is.

    Parameters
    ----------
    top
        How many of a query's first ranks are scored again.
    """

    top: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.top, int) or isinstance(self.top, bool) or self.top < 1:
            raise ValueError(f"top is {self.top!r}; it must be a whole number of at least 1")


@dataclass(frozen=True)
class Pairs:
    """Pairs to score: pair i is ``queries[query_of[i]]`` with ``passages[passage_of[i]]``.

    Parameters
    ----------
    queries, passages
        Distinct texts; a passage is prefix + content, as it was embedded.
    query_of, passage_of
        Shape (pairs,): indices into these.
    """

    queries: list[str]
    passages: list[str]
    query_of: NDArray[np.int64]
    passage_of: NDArray[np.int64]


@dataclass(frozen=True)
class Scored:
    """Scores of pairs.

    Parameters
    ----------
    scores
        Shape (pairs,): higher is more relevant.
    truncated
        Shape (pairs,): whether the model did not see the passage's end.
    """

    scores: NDArray[np.float32]
    truncated: NDArray[np.bool_]

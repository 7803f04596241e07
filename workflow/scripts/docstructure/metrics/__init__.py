"""Retrieval metrics as value objects with parseable names: ``parse("cov_ndcg@10")`` (paper 5.1, appendices B and C).

A metric sees where chunks lie, where the gold evidence lies, in which order a run ranks the chunks and how many tokens
each costs. It never sees a prefix.
"""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docstructure.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from docstructure.metrics.cutoffs import Cutoff
    from docstructure.metrics.judged import JudgedRun

METRICS = Registry(
    "metric",
    "score",
    {
        "cov_ndcg": "metrics.cov_ndcg",
        "ndcg": "metrics.ndcg",
        "recall": "metrics.recall",
        "mrr": "metrics.mrr",
        "coverage": "metrics.coverage",
    },
)


@dataclass(frozen=True)
class Metric:
    """A metric family with its cutoff; ``str(metric)`` is its name, in the config and as a column of scores.

    Parameters
    ----------
    family
        A kind of `METRICS`: ``cov_ndcg``, ``ndcg``, ``recall``, ``mrr`` or ``coverage``.
    cutoff
        Where the family stops reading the ranking: after k ranks, after a budget of tokens, or at its end.
    """

    family: str
    cutoff: Cutoff

    def __str__(self) -> str:
        return f"{self.family}{self.cutoff}"

    def score(self, judged: JudgedRun) -> NDArray[np.float64]:
        """Return the score of every query, shape ``(n_queries,)``, each in [0, 1]."""
        options, score = METRICS.resolve({self.family: dataclasses.asdict(self.cutoff)})
        scores: NDArray[np.float64] = score(options, judged)
        return scores


def parse(name: str) -> Metric:
    """Return the metric of this name; the inverse of ``str``.

    Raises
    ------
    ValueError
        If there is no such family, or its cutoff is not written in its one way; the message lists what exists.
    """
    family, at, cutoff = name.partition("@")
    if family not in METRICS.modules:
        raise ValueError(f"unknown metric {name!r}; metrics are {', '.join(_forms())}")
    try:
        return Metric(family, _options(family).parse(at + cutoff))
    except ValueError as error:
        raise ValueError(f"metric {name!r}: {error}; metrics are {', '.join(_forms())}") from None


def _options(family: str) -> type[Cutoff]:
    options: type[Cutoff] = importlib.import_module(METRICS.module(family)).Options
    return options


def _forms() -> list[str]:
    """Return how each family is written: ``cov_ndcg@k``, ``coverage@Bt`` ..."""
    return [f"{family}{_options(family).form}" for family in METRICS.modules]

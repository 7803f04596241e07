"""Test every contrast in every cell and metric (paper 5.2, appendix D).

Only pre-registered contrasts in the pre-registered cell and metric are confirmatory: Holm's family is those of them
that could be tested. All other rows are exploratory and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.contracts.contrasts import CONTRASTS
from docstructure.metrics import parse
from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.cells import Cell, read_cells
from docstructure.statistics.effect_size import cohens_dz
from docstructure.statistics.holm import holm
from docstructure.statistics.mixed_models import MixedModel, condition_model, paired_model
from docstructure.statistics.paired import TESTED, document_codes, pairing

NOT_ASKED = MixedModel(None, None, None, "not fitted: mixed_models is off")


@dataclass(frozen=True)
class Plan:
    """What is tested: contrasts, metrics, and which of them the pre-registration names."""

    contrasts: Mapping[str, Sequence[str]]
    registered: Sequence[str]
    exploratory: Sequence[str]
    metric: str
    embedder: str
    reranker: str
    metrics: Sequence[str]
    unavailable: Mapping[str, str]

    def __post_init__(self) -> None:
        for name in (*self.registered, *self.exploratory):
            if name not in self.contrasts:
                raise ValueError(f"contrast {name} is not defined; contrasts are {', '.join(self.contrasts)}")
            if len(self.contrasts[name]) != 2:
                raise ValueError(f"contrast {name} is {list(self.contrasts[name])}; it is [minuend, subtrahend]")
        twice = [name for name in self.exploratory if name in self.registered]
        if twice:
            raise ValueError(f"contrast {twice[0]} is pre-registered; it cannot be an exploratory contrast as well")
        if self.metric not in self.metrics:
            raise ValueError(f"the pre-registered metric {self.metric} is not among {', '.join(self.metrics)}")
        for metric in self.metrics:
            parse(metric)

    def is_confirmatory(self, contrast: str, metric: str, embedder: str, reranker: str) -> bool:
        """Return whether a row is a pre-registered contrast in the pre-registered cell and metric."""
        primary = (metric, embedder, reranker) == (self.metric, self.embedder, self.reranker)
        return primary and contrast in self.registered


def build_contrasts(
    *,
    scores: Sequence[Mapping[str, str]],
    contrasts: Mapping[str, Sequence[str]],
    preregistration: Mapping[str, Any],
    exploratory: Sequence[str],
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
    bootstrap_iters: int,
    confidence: float,
    seed: int,
    mixed_models: bool,
    table: str,
) -> None:
    """Test the contrasts of one corpus and write ``statistics/contrasts.parquet``.

    Rows stand in the order of contrasts (pre-registered, then exploratory), cells (the pre-registered one, then as
    given) and metrics. A contrast that cannot be tested is a row with a status and null values.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    contrasts
        Name to ``[minuend, subtrahend]``.
    preregistration
        ``{cell: {metric, embedder, reranker}, contrasts: [names]}``.
    exploratory
        Names of further contrasts, outside the family.
    unavailable
        Condition to the reason why this corpus does not have it.
    metrics
        Score columns to test.
    bootstrap_iters, confidence, seed
        Replicates, level and seed of the cluster bootstrap.
    mixed_models
        Fit the mixed models too.
    table
        Path that is written.

    Raises
    ------
    ValueError
        If a name is unknown, or cells cannot be paired (`PairingError` names the file and the query).
    """
    cell = preregistration["cell"]
    plan = Plan(
        contrasts,
        preregistration["contrasts"],
        exploratory,
        cell["metric"],
        cell["embedder"],
        cell["reranker"],
        metrics,
        unavailable,
    )
    cells = {scored.key: scored for scored in read_cells(scores, metrics)}
    rows = list(_rows(plan, cells))
    _test(rows, cells, Resampling(bootstrap_iters, confidence, seed), mixed_models)
    _adjust(rows)
    CONTRASTS.write(CONTRASTS.frame(rows), table)


def _rows(plan: Plan, cells: Mapping[tuple[str, str, str], Cell]) -> Iterator[dict[str, Any]]:
    """Yield one row per contrast, cell and metric, with its status and nothing measured."""
    blank = dict.fromkeys(CONTRASTS.names)
    pairs = dict.fromkeys([(plan.embedder, plan.reranker), *(key[1:] for key in cells)])
    for contrast in (*plan.registered, *plan.exploratory):
        minuend, subtrahend = plan.contrasts[contrast]
        for embedder, reranker in pairs:
            status, n_queries, n_documents = pairing(
                cells, plan.unavailable, (minuend, subtrahend), (embedder, reranker)
            )
            for metric in plan.metrics:
                yield blank | {
                    "contrast": contrast,
                    "minuend": minuend,
                    "subtrahend": subtrahend,
                    "metric": metric,
                    "embedder": embedder,
                    "reranker": reranker,
                    "confirmatory": plan.is_confirmatory(contrast, metric, embedder, reranker),
                    "status": status,
                    "n_queries": n_queries,
                    "n_documents": n_documents,
                    "mixedlm_note": "",
                    "paired_note": "",
                }


def _test(
    rows: list[dict[str, Any]],
    cells: Mapping[tuple[str, str, str], Cell],
    resampling: Resampling,
    mixed_models: bool,
) -> None:
    """Fill in what is measured of every row that can be tested; all share one bootstrap."""
    tested = [row for row in rows if row["status"] == TESTED]
    if not tested:
        return
    documents = document_codes(next(iter(cells.values())).scores["doc_id"])
    sides = [_sides(row, cells) for row in tested]
    deltas = np.stack([minuend - subtrahend for minuend, subtrahend in sides], axis=1)
    bootstrap = cluster_bootstrap(deltas, documents, resampling)
    for column, (row, (minuend, subtrahend)) in enumerate(zip(tested, sides, strict=True)):
        delta = minuend - subtrahend
        row["delta"] = float(delta.mean())
        row["ci_low"], row["ci_high"] = float(bootstrap.ci_low[column]), float(bootstrap.ci_high[column])
        row["p"] = float(bootstrap.p[column])
        row["dz"] = cohens_dz(delta)
        model = paired = NOT_ASKED
        if mixed_models:
            model = condition_model(minuend, subtrahend, documents, statsmodels=row["confirmatory"])
            paired = paired_model(delta, documents, statsmodels=row["confirmatory"])
        row["p_mixedlm"], row["mixedlm_converged"], row["mixedlm_note"] = model.p, model.converged, model.note
        row["paired_delta"], row["p_paired"] = paired.coefficient, paired.p
        row["paired_converged"], row["paired_note"] = paired.converged, paired.note


def _adjust(rows: list[dict[str, Any]]) -> None:
    """Adjust the p-values of the confirmatory family: the pre-registered contrasts that were tested."""
    family = [row for row in rows if row["confirmatory"] and row["status"] == TESTED]
    for row, adjusted in zip(family, holm([row["p"] for row in family]), strict=True):
        row["p_holm"], row["family_size"] = adjusted, len(family)


def _sides(
    row: Mapping[str, Any], cells: Mapping[tuple[str, str, str], Cell]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    where = (row["embedder"], row["reranker"])
    minuend, subtrahend = (cells[(row[side], *where)] for side in ("minuend", "subtrahend"))
    return minuend.values(row["metric"]), subtrahend.values(row["metric"])

"""What this corpus can detect: minimal detectable effect and power of the document-clustered test. Exploratory.

The mean delta is a ratio of document sums to document sizes. Its standard error is that of the linearised ratio,
``sqrt(D / (D - 1) · Σ_d e_d²) / n`` with ``e_d`` the document's sum of deviations from the mean, which is what the
cluster bootstrap estimates by resampling. By the normal approximation a two-sided test of level α rejects at a true
effect θ with probability ``Φ(|θ|/se - z) + Φ(-|θ|/se - z)``, ``z = Φ⁻¹(1 - α/2)``; it reaches the target power at
``(z + Φ⁻¹(power)) · se`` (the other tail adds 1e-6 there at α 0.05 and power 0.8, and never more than 6e-4).

Power at the effect that was observed says nothing that p does not say already: effects are given, never estimated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from docstructure.contracts.power import POWER
from docstructure.statistics.cells import read_cells
from docstructure.statistics.paired import TESTED, by_key, deltas, document_codes, pairing, places

NORMAL = NormalDist()


@dataclass(frozen=True)
class Precision:
    """How precisely a mean delta is known.

    Parameters
    ----------
    sd
        Standard deviation of the per-query deltas (ddof 1).
    se
        Cluster-robust standard error of their mean.
    design_effect
        ``se²`` over that of independent queries; None where deltas do not vary.
    effective_n
        Independent queries that would give this standard error; None where deltas do not vary.
    """

    sd: float
    se: float
    design_effect: float | None
    effective_n: float | None


def precision(delta: NDArray[np.float64], documents: NDArray[np.int64]) -> Precision:
    """Return the precision of a mean of clustered deltas.

    Parameters
    ----------
    delta
        Shape ``(n_queries,)``.
    documents
        Document of each query, numbered from 0 without a gap; at least two.

    Raises
    ------
    ValueError
        If there are fewer than two documents.
    """
    n, n_documents = len(delta), int(documents.max(initial=-1)) + 1
    if n_documents < 2:
        raise ValueError(f"{n_documents} document: a clustered standard error needs at least 2")
    deviations = np.bincount(documents, weights=delta - delta.mean(), minlength=n_documents)
    se = math.sqrt(n_documents / (n_documents - 1) * float((deviations**2).sum())) / n
    sd = float(delta.std(ddof=1))
    if np.ptp(delta) <= 1e-12 * np.abs(delta).max() or se == 0:
        return Precision(sd, se, None, None)
    return Precision(sd, se, se**2 / (sd**2 / n), sd**2 / se**2)


def power(effect: float, se: float, alpha: float) -> float:
    """Return the probability that a two-sided test of level `alpha` rejects when the true mean delta is `effect`."""
    if se == 0:
        return 0.0 if effect == 0 else 1.0
    z = NORMAL.inv_cdf(1 - alpha / 2)
    return NORMAL.cdf(abs(effect) / se - z) + NORMAL.cdf(-abs(effect) / se - z)


def minimal_detectable_effect(se: float, alpha: float, target: float) -> float:
    """Return the effect at which the power is `target`."""
    return (NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(target)) * se


def build_power(
    *,
    scores: Sequence[Mapping[str, str]],
    contrasts: Mapping[str, Sequence[str]],
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
    effects: Sequence[float],
    alpha: float,
    target_power: float,
    table: str,
) -> None:
    """Write ``statistics/power.parquet``: every contrast that can be tested, in every cell and metric.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    contrasts
        Name to ``[minuend, subtrahend]``.
    unavailable
        Condition to the reason why this corpus does not have it; contrasts with it have no row.
    metrics
        Score columns.
    effects
        True mean deltas at which power is given.
    alpha
        Two-sided level of one test (Holm's smallest step is alpha / family size).
    target_power
        Power at the minimal detectable effect.
    table
        Path that is written.

    Raises
    ------
    ValueError
        If alpha, target_power or an effect is out of range, or cells cannot be paired.
    """
    _check(effects, alpha, target_power)
    cells = by_key(read_cells(scores, metrics))
    rows = []
    for name, (minuend, subtrahend) in contrasts.items():
        for where in places(cells):
            status, n_queries, n_documents = pairing(cells, unavailable, (minuend, subtrahend), where)
            if status != TESTED:
                continue
            documents = document_codes(cells[(minuend, *where)].scores["doc_id"])
            for metric in metrics:
                known = precision(deltas(cells, minuend, subtrahend, where, metric), documents)
                common = {
                    "contrast": name,
                    "metric": metric,
                    "embedder": where[0],
                    "reranker": where[1],
                    "n_queries": n_queries,
                    "n_documents": n_documents,
                    "sd": known.sd,
                    "se": known.se,
                    "design_effect": known.design_effect,
                    "effective_n": known.effective_n,
                    "alpha": alpha,
                    "target_power": target_power,
                    "mde": minimal_detectable_effect(known.se, alpha, target_power),
                    "exploratory": True,
                }
                rows += [common | {"effect": effect, "power": power(effect, known.se, alpha)} for effect in effects]
    POWER.write(POWER.frame(rows), table)


def _check(effects: Sequence[float], alpha: float, target_power: float) -> None:
    if not 0 < alpha <= 0.1:
        raise ValueError(f"alpha is {alpha}; allowed are levels above 0, up to 0.1")
    if not 0.5 <= target_power < 1:
        raise ValueError(f"target_power is {target_power}; allowed are 0.5 and more, below 1")
    wrong = [effect for effect in effects if not (math.isfinite(effect) and effect >= 0)]
    if wrong or len(set(effects)) < len(effects):
        raise ValueError(f"effects are {list(effects)}; they are sizes from 0 upwards, each once")

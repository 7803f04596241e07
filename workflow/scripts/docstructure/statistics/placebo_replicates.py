"""The placebo redrawn: one permutation is one draw, so its contrast is tested over further seeds. Exploratory.

The interval of a contrast holds the derangement fixed and speaks of other documents. The spread over draws holds the
documents fixed and speaks of other derangements. Where the second is not small beside the first, one draw decides too
much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.contracts.placebo_replicates import PLACEBO_REPLICATES
from docstructure.statistics.bootstrap import Resampling
from docstructure.statistics.cells import read_cells
from docstructure.statistics.paired import TESTED, Cells, by_key, deltas, document_codes, fill, pairing, places

Definitions = Mapping[str, Mapping[str, Any]]
PLACEBO = "placebo"


def placebo_draws(placebo: str, conditions: Definitions, prefixes: Definitions) -> dict[str, int]:
    """Return the seed of every condition that differs from a placebo condition in its seed alone.

    Parameters
    ----------
    placebo
        Condition whose prefix is a placebo.
    conditions
        Name to ``{boundaries, prefix, retrieval}``.
    prefixes
        Name to ``{kind: {options}}``.

    Returns
    -------
    dict
        Condition to seed: the placebo itself first, then the others by seed and name. Conditions of one seed are one
        draw and are represented by the first of them. Empty where the condition's prefix is no placebo.
    """
    own = _without_seed(conditions[placebo], prefixes)
    if own is None:
        return {}
    found = {
        name: int(prefixes[entry["prefix"]][PLACEBO]["seed"])
        for name, entry in conditions.items()
        if _without_seed(entry, prefixes) == own
    }
    draws = {placebo: found[placebo]}
    for name, seed in sorted(found.items(), key=lambda item: (item[1], item[0])):
        if seed not in draws.values():
            draws[name] = seed
    return draws


def _without_seed(entry: Mapping[str, Any], prefixes: Definitions) -> tuple[Any, ...] | None:
    """Return all that makes a placebo condition but its seed; None where its prefix is no placebo."""
    prefix = prefixes[entry["prefix"]]
    if PLACEBO not in prefix:
        return None
    options = sorted((key, value) for key, value in prefix[PLACEBO].items() if key != "seed")
    return entry["boundaries"], entry["retrieval"], tuple(options)


def build_placebo_replicates(
    *,
    scores: Sequence[Mapping[str, str]],
    contrasts: Mapping[str, Sequence[str]],
    conditions: Definitions,
    prefixes: Definitions,
    unavailable: Mapping[str, str],
    metrics: Sequence[str],
    bootstrap_iters: int,
    confidence: float,
    seed: int,
    table: str,
) -> None:
    """Test every placebo contrast under each draw that was run; write ``statistics/placebo_replicates.parquet``.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell.
    contrasts
        Name to ``[minuend, subtrahend]``; those with a placebo on exactly one side are used.
    conditions, prefixes
        Definitions of the conditions that were asked for and of their prefixes.
    unavailable
        Condition to the reason why this corpus does not have it.
    metrics
        Score columns.
    bootstrap_iters, confidence, seed
        Replicates, level and seed of the cluster bootstrap.
    table
        Path that is written.

    Raises
    ------
    PairingError
        If cells cannot be paired.
    """
    cells = by_key(read_cells(scores, metrics))
    rows = [
        row
        for name, sides in contrasts.items()
        if all(side in conditions for side in sides)
        for row in _rows(cells, name, sides, (conditions, prefixes), unavailable, metrics=metrics)
    ]
    tested = [row for row in rows if row["status"] == TESTED]
    if tested:
        columns = [
            deltas(cells, row["minuend"], row["subtrahend"], (row["embedder"], row["reranker"]), row["metric"])
            for row in tested
        ]
        documents = document_codes(next(iter(cells.values())).scores["doc_id"])
        fill(tested, columns, documents, Resampling(bootstrap_iters, confidence, seed))
    _spread(rows)
    PLACEBO_REPLICATES.write(PLACEBO_REPLICATES.frame(rows), table)


def _rows(
    cells: Cells,
    name: str,
    sides: Sequence[str],
    definitions: tuple[Definitions, Definitions],
    unavailable: Mapping[str, str],
    *,
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    """Return one row per draw, cell and metric of a contrast; none where not exactly one side is a placebo."""
    by_side = [placebo_draws(side, *definitions) for side in sides]
    if bool(by_side[0]) == bool(by_side[1]):
        return []
    side = 0 if by_side[0] else 1
    rows = []
    for placebo, drawn_with in by_side[side].items():
        pair = (placebo, sides[1]) if side == 0 else (sides[0], placebo)
        for where in places(cells):
            status, n_queries, n_documents = pairing(cells, unavailable, pair, where)
            for metric in metrics:
                rows.append(
                    dict.fromkeys(PLACEBO_REPLICATES.names)
                    | {
                        "contrast": name,
                        "minuend": pair[0],
                        "subtrahend": pair[1],
                        "placebo": placebo,
                        "seed": drawn_with,
                        "drawn_first": placebo == sides[side],
                        "metric": metric,
                        "embedder": where[0],
                        "reranker": where[1],
                        "status": status,
                        "n_queries": n_queries,
                        "n_documents": n_documents,
                        "exploratory": True,
                    }
                )
    return rows


def _spread(rows: Sequence[dict[str, Any]]) -> None:
    """Put the spread over draws beside each draw of the same contrast, cell and metric."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in ("contrast", "metric", "embedder", "reranker")), []).append(row)
    for group in groups.values():
        drawn: NDArray[np.float64] = np.array([row["delta"] for row in group if row["delta"] is not None])
        for row in group:
            row["n_draws"] = len(drawn)
            if len(drawn):
                row["draws_mean"], row["draws_low"] = float(drawn.mean()), float(drawn.min())
                row["draws_high"] = float(drawn.max())
                row["draws_sd"] = float(drawn.std(ddof=1)) if len(drawn) > 1 else None

"""The numeric-noise floor: the same cells, embedded again under another dtype, device or shape scheme. Exploratory.

A pair names two embedders of the config that are the same model. What differs between their cells is arithmetic alone,
so an effect that is no larger than the shift of its contrast here is no effect. Two views of it: score by score, and
ranking by ranking (how much of the top k is another chunk).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.noise import NOISE
from docstructure.contracts.ranking import RANKING
from docstructure.statistics.cells import PairingError, read_cells
from docstructure.statistics.paired import Cells, by_key, deltas, places

Floats = NDArray[np.float64]
Entry = Mapping[str, str]


def build_noise(
    *,
    scores: Sequence[Entry],
    rankings: Sequence[Entry],
    pairs: Sequence[Sequence[str]],
    contrasts: Mapping[str, Sequence[str]],
    metrics: Sequence[str],
    depth: int,
    table: str,
) -> None:
    """Write ``statistics/noise.parquet``: per pair of embedders, every condition and contrast that both have.

    Parameters
    ----------
    scores
        ``{condition, embedder, reranker, path}`` of each scored cell of the embedders in `pairs`.
    rankings
        The same of the rankings; may be empty, then rankings are not compared.
    pairs
        ``[[reference, variant], ...]``: embedders that differ in numerics alone.
    contrasts
        Name to ``[minuend, subtrahend]``; those that a place does not have both sides of are left out.
    metrics
        Score columns.
    depth
        First chunks of a ranking that are compared (``top@depth``).
    table
        Path that is written. Without pairs it is empty.

    Raises
    ------
    ValueError
        If a pair is not two different embedders, or has no cell in common; the message names it.
    PairingError
        If cells cannot be paired, or two rankings hold different queries.
    """
    wanted = {name for pair in pairs for name in pair}
    cells = by_key(read_cells([entry for entry in scores if entry["embedder"] in wanted], metrics))
    files = {(e["condition"], e["embedder"], e["reranker"]): e["path"] for e in rankings}
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"noise: {list(pair)} is no pair; it is [reference, variant], two embedders of one model")
        found = [*_conditions(cells, pair, metrics), *_contrasts(cells, pair, contrasts, metrics)]
        if not found:
            raise ValueError(f"noise: {pair[0]} and {pair[1]} have no cell in common; add both to embedders")
        rows += [*found, *_rankings(files, pair, depth)]
    NOISE.write(NOISE.frame(rows), table)


def _shared(keys: Sequence[tuple[str, str, str]], pair: Sequence[str]) -> list[tuple[str, str]]:
    """Return every (condition, reranker) that both embedders have, in order."""
    known = set(keys)
    return [(c, r) for c, embedder, r in keys if embedder == pair[0] and (c, pair[1], r) in known]


def _conditions(cells: Cells, pair: Sequence[str], metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    for condition, reranker in _shared(list(cells), pair):
        here, there = (cells[(condition, embedder, reranker)] for embedder in pair)
        for metric in metrics:
            yield _row(pair, ("condition", condition, reranker, metric), here.values(metric), there.values(metric))


def _contrasts(
    cells: Cells, pair: Sequence[str], contrasts: Mapping[str, Sequence[str]], metrics: Sequence[str]
) -> Iterator[dict[str, Any]]:
    rerankers = list(dict.fromkeys(reranker for _, reranker in places(cells)))
    for name, sides in contrasts.items():
        for reranker in rerankers:
            if any((side, embedder, reranker) not in cells for side in sides for embedder in pair):
                continue
            for metric in metrics:
                here, there = (deltas(cells, sides[0], sides[1], (embedder, reranker), metric) for embedder in pair)
                yield _row(pair, ("contrast", name, reranker, metric), here, there)


def _rankings(files: Mapping[tuple[str, str, str], str], pair: Sequence[str], depth: int) -> Iterator[dict[str, Any]]:
    for condition, reranker in _shared(list(files), pair):
        here, there = (files[(condition, embedder, reranker)] for embedder in pair)
        lost = lost_of_top(here, there, depth)
        yield _row(pair, ("condition", condition, reranker, f"top@{depth}"), np.zeros(len(lost)), lost)


def lost_of_top(reference: str, variant: str, depth: int) -> Floats:
    """Return, per query, the share of the reference's first `depth` chunks that the variant has not among its own.

    Parameters
    ----------
    reference, variant
        Paths of two rankings of the same queries.
    depth
        Ranks that are compared.

    Raises
    ------
    PairingError
        If a query is in one of them only.
    """
    tops = [
        RANKING.read(path, columns=["query_id", "rank", "chunk_id"]).filter(pl.col("rank") <= depth)
        for path in (reference, variant)
    ]
    lone = set(tops[0]["query_id"]) ^ set(tops[1]["query_id"])
    if lone:
        raise PairingError(f"{variant}: query {min(lone)} is in only one of this and {reference}")
    there = tops[1].select("query_id", "chunk_id", found=pl.lit(value=1.0))
    joined = tops[0].join(there, on=["query_id", "chunk_id"], how="left")
    lost = joined.group_by("query_id").agg(lost=1 - pl.col("found").fill_null(0.0).mean()).sort("query_id")
    return lost["lost"].to_numpy()


def _row(pair: Sequence[str], what: tuple[str, str, str, str], reference: Floats, variant: Floats) -> dict[str, Any]:
    scope, name, reranker, metric = what
    difference = np.abs(variant - reference)
    means = float(reference.mean()), float(variant.mean())
    return {
        "reference": pair[0],
        "variant": pair[1],
        "scope": scope,
        "name": name,
        "reranker": reranker,
        "metric": metric,
        "n_queries": len(difference),
        "n_changed": int(np.count_nonzero(difference)),
        "max_abs": float(difference.max()),
        "mean_abs": float(difference.mean()),
        "reference_mean": means[0],
        "variant_mean": means[1],
        "shift": means[1] - means[0],
        "exploratory": True,
    }

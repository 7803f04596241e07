"""Time the whole statistics stage of the paper's grid on synthetic scores: 66 cells, 7 metrics, both corpora's sizes.

66 cells are two corpora of 33: eleven conditions under two embedders, and under the reranker on the strong one. Each
stage reads the score files, as the workflow's jobs do; the start of Python is not in it. Two threads at most. Prints
one table line, and to stderr what each part took and the processor time of all (a busy machine stretches the former).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "2"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from docstructure.statistics.budget import build_budget
from docstructure.statistics.contrasts import build_contrasts
from docstructure.statistics.dose_response import build_dose_response
from docstructure.statistics.means import build_means
from docstructure.statistics.noise import build_noise
from docstructure.statistics.per_type import build_per_type
from docstructure.statistics.placebo_replicates import build_placebo_replicates
from docstructure.statistics.power import build_power

GOAL = 60.0
CORPORA = {"wikipedia_fa": (951, 184, 4), "qasper": (4303, 1508, 3)}
CONDITIONS = ("A0", "A1", "A2", "A3-d1", "A3-d2", "A3", "P", "A4", "G2", "G3", "G4")
PLACES = (("weak", "none"), ("strong", "none"), ("strong", "cross"))
METRICS = ["cov_ndcg@10", "ndcg@10", "recall@50", "mrr", "coverage@512t", "coverage@1024t", "coverage@2048t"]
CONTRASTS = {"C1": ["A3", "A1"], "C2": ["A3", "P"], "C3": ["G3", "A3"], "C4": ["A4", "A3"]}
REGISTERED = {
    "cell": {"metric": "cov_ndcg@10", "embedder": "strong", "reranker": "none"},
    "contrasts": list(CONTRASTS),
}
RESAMPLING = {"bootstrap_iters": 10_000, "confidence": 0.95, "seed": 20260710}


def make_scores(folder: Path, n_queries: int, n_documents: int, n_types: int) -> list[dict[str, str]]:
    """Write 33 cells of clustered scores and return their entries."""
    rng = np.random.default_rng(20260710)
    documents = np.sort(np.concatenate([np.arange(n_documents), rng.integers(0, n_documents, n_queries - n_documents)]))
    identity = {
        "query_id": [f"q{index:05d}" for index in range(n_queries)],
        "doc_id": [f"d{document:05d}" for document in documents],
        "type": [f"type{index % n_types}" for index in range(n_queries)],
    }
    level = rng.uniform(0, 1, (n_queries, len(METRICS)))
    entries = []
    for condition in CONDITIONS:
        for embedder, reranker in PLACES:
            shared = rng.normal(0, 0.05, (n_documents, len(METRICS)))[documents]
            noise = rng.normal(0.01, 0.15, level.shape)
            values = np.clip(level + shared + np.where(rng.uniform(size=level.shape) < 0.5, noise, 0), 0, 1)
            recall = rng.integers(0, 2, n_queries).astype(float) if condition in {"A4", "G4"} else [None] * n_queries
            path = folder / f"{condition}.{embedder}.{reranker}.parquet"
            pl.DataFrame(
                {
                    **identity,
                    "section_recall": pl.Series(recall, dtype=pl.Float64),
                    **dict(zip(METRICS, values.T, strict=True)),
                }
            ).write_parquet(path)
            entries.append({"condition": condition, "embedder": embedder, "reranker": reranker, "path": str(path)})
    return entries


def stages(scores: list[dict[str, str]], folder: Path) -> dict[str, float]:
    """Run every stage of one corpus and return its seconds."""
    conditions = {name: {"boundaries": "b", "prefix": name, "retrieval": "flat"} for name in CONDITIONS}
    prefixes: dict[str, dict[str, dict[str, int]]] = {name: {"none": {}} for name in CONDITIONS}
    prefixes["P"] = {"placebo": {"depth": 3, "seed": 1}}
    tests = {"contrasts": CONTRASTS, "unavailable": {}}
    registered = {"preregistration": REGISTERED}
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "contrasts": (build_contrasts, tests | registered | RESAMPLING | {"exploratory": [], "mixed_models": True}),
        "means": (build_means, registered),
        "dose_response": (
            build_dose_response,
            {"ladders": {"depth": ["A2", "A3-d1", "A3-d2", "A3"]}, "unavailable": {}, **RESAMPLING},
        ),
        "per_type": (build_per_type, tests | RESAMPLING),
        "budget": (build_budget, RESAMPLING),
        "power": (build_power, tests | {"effects": [0.005, 0.01, 0.02], "alpha": 0.05, "target_power": 0.8}),
        "noise": (
            build_noise,
            {"rankings": [], "pairs": [["strong", "weak"]], "contrasts": CONTRASTS, "depth": 10},
        ),
        "placebo_replicates": (
            build_placebo_replicates,
            tests | RESAMPLING | {"conditions": conditions, "prefixes": prefixes},
        ),
    }
    seconds = {}
    for name, (build, arguments) in calls.items():
        begin = time.perf_counter()
        build(scores=scores, metrics=METRICS, table=str(folder / f"{name}.out"), **arguments)
        seconds[name] = time.perf_counter() - begin
    return seconds


def main() -> None:
    """Print the table line, and what each stage took."""
    total: dict[str, float] = {}
    processor = time.process_time()
    for n_queries, n_documents, n_types in CORPORA.values():
        with tempfile.TemporaryDirectory() as name, threadpool_limits(limits=2):
            folder = Path(name)
            for stage, seconds in stages(make_scores(folder, n_queries, n_documents, n_types), folder).items():
                total[stage] = total.get(stage, 0.0) + seconds
    ours = sum(total.values())
    split = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in total.items())
    processor = time.process_time() - processor
    print(f"statistics stage, seconds: {split}; {processor:.1f} of processor time", file=sys.stderr)
    what = f"statistics stage of {len(CONDITIONS) * len(PLACES) * len(CORPORA)} cells x {len(METRICS)} metrics"
    print(f"| {what} | {ours:.1f} s | {GOAL:.0f} s (limit) | {GOAL / ours:.1f}x | >= 1x |")


if __name__ == "__main__":
    main()

"""The numeric-noise floor."""

import numpy as np
import polars as pl
import pytest

from docstructure.contracts.noise import NOISE
from docstructure.contracts.ranking import RANKING
from docstructure.statistics.cells import PairingError
from docstructure.statistics.noise import build_noise, lost_of_top
from tests.unit.scored_cells import documents_of, entry, make_scores

DOCUMENTS = documents_of([2, 3, 1])
BASE = {"A3": np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.0]), "A1": np.array([0.4, 0.4, 0.4, 0.4, 0.4, 0.4])}
MOVED = {"A3": BASE["A3"] + [0.01, 0, 0, 0, 0, 0.02], "A1": BASE["A1"] + [0, 0, 0, 0, 0, 0.02]}


def rank(path, tops):
    rows = [
        {"query_id": query, "rank": place + 1, "chunk_id": chunk, "score": 1.0, "routed": None}
        for query, chunks in tops.items()
        for place, chunk in enumerate(chunks)
    ]
    RANKING.write(RANKING.frame(rows), path)
    return str(path)


def build(tmp_path, pairs, rankings=()):
    entries = [
        entry(
            condition,
            embedder,
            "none",
            make_scores(tmp_path / f"{condition}.{embedder}", {"mrr": values}, documents=DOCUMENTS),
        )
        for embedder, cells in (("f32", BASE), ("bf16", MOVED), ("other", {"G2": BASE["A1"]}))
        for condition, values in cells.items()
    ]
    table = tmp_path / "table.parquet"
    build_noise(
        scores=entries,
        rankings=rankings,
        pairs=pairs,
        contrasts={"C1": ["A3", "A1"], "C3": ["G3", "A3"]},
        metrics=["mrr"],
        depth=2,
        table=str(table),
    )
    return NOISE.read(table)


def test_scores_and_contrasts_are_compared_query_by_query(tmp_path):
    table = build(tmp_path, [["f32", "bf16"]])
    assert table.select("scope", "name").rows() == [("condition", "A3"), ("condition", "A1"), ("contrast", "C1")]
    a3, _, c1 = table.iter_rows(named=True)
    assert (a3["n_changed"], a3["max_abs"]) == (2, pytest.approx(0.02))
    assert a3["mean_abs"] == pytest.approx(0.03 / 6)
    # what moves both sides alike is gone from their difference
    assert (c1["max_abs"], c1["shift"]) == (pytest.approx(0.01), pytest.approx(0.01 / 6))
    assert c1["reference_mean"] == pytest.approx((BASE["A3"] - BASE["A1"]).mean())


def test_no_pair_gives_an_empty_table(tmp_path):
    assert build(tmp_path, []).height == 0


def test_a_pair_without_a_common_cell_is_refused(tmp_path):
    with pytest.raises(ValueError, match="f32 and other have no cell in common"):
        build(tmp_path, [["f32", "other"]])
    with pytest.raises(ValueError, match="no pair"):
        build(tmp_path, [["f32", "f32"]])


def test_rankings_are_compared_by_what_the_top_lost(tmp_path):
    here = rank(tmp_path / "here", {"q1": ["a", "b", "c"], "q2": ["a", "b", "c"]})
    there = rank(tmp_path / "there", {"q1": ["b", "a", "c"], "q2": ["c", "a", "b"]})
    assert lost_of_top(here, there, 2).tolist() == [0, 0.5]
    assert lost_of_top(here, there, 1).tolist() == [1, 1]
    files = [entry("A3", "f32", "none", here), entry("A3", "bf16", "none", there)]
    row = build(tmp_path, [["f32", "bf16"]], files).filter(pl.col("metric") == "top@2").row(0, named=True)
    assert (row["n_changed"], row["mean_abs"]) == (1, 0.25)


def test_rankings_of_other_queries_are_refused(tmp_path):
    here, there = rank(tmp_path / "h", {"q1": ["a"]}), rank(tmp_path / "t", {"q2": ["a"]})
    with pytest.raises(PairingError, match="query q1 is in only one"):
        lost_of_top(here, there, 1)

"""Slopes per path depth level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.statistics.dose_response import build_dose_response, slopes
from tests.unit.scored_cells import RESAMPLING, documents_of, entry, make_scores

LADDER = ["A2", "d1", "d2", "A3"]


@settings(deadline=None)
@given(st.integers(2, 6), st.integers(1, 20), st.integers(0, 99))
def test_slope_is_that_of_polyfit(levels, queries, seed):
    values = np.random.default_rng(seed).uniform(0, 1, (queries, levels))
    expected = np.polyfit(np.arange(levels), values.T, 1)[0]
    assert slopes(values) == pytest.approx(expected, abs=1e-12)


def build(tmp_path, steps, *, unavailable=None, ladder=LADDER, sizes=(3, 2, 4, 1, 2, 3)):
    documents = documents_of(sizes)
    entries = [
        entry(name, "e", "none", make_scores(tmp_path / f"{name}.parquet", {"mrr": values}, documents=documents))
        for name, values in steps.items()
    ]
    table = tmp_path / "table.parquet"
    build_dose_response(
        scores=entries,
        ladders={"depth": ladder},
        unavailable=unavailable or {},
        metrics=["mrr"],
        table=str(table),
        **RESAMPLING,
    )
    return DOSE_RESPONSE.read(table)


def test_a_straight_ladder_has_its_slope_and_no_spread(tmp_path):
    base = np.linspace(0.1, 0.5, 15)
    table = build(tmp_path, {name: base + 0.05 * level for level, name in enumerate(LADDER)})
    row = table.row(0, named=True)
    assert row["slope"] == pytest.approx(0.05)
    assert (row["ci_low"], row["ci_high"], row["p"]) == (pytest.approx(0.05), pytest.approx(0.05), 0)
    assert row["means"] == pytest.approx([base.mean() + 0.05 * level for level in range(4)])
    assert row["exploratory"]
    assert (row["n_queries"], row["n_documents"]) == (15, 6)


def test_a_flat_ladder_has_slope_zero_and_p_one(tmp_path):
    base = np.linspace(0.1, 0.5, 15)
    row = build(tmp_path, dict.fromkeys(LADDER, base)).row(0, named=True)
    assert (row["slope"], row["p"]) == (pytest.approx(0, abs=1e-15), 1)


def test_a_missing_step_is_a_status(tmp_path):
    base = np.linspace(0.1, 0.5, 15)
    steps = dict.fromkeys(LADDER[:3], base)
    assert build(tmp_path, steps)["status"].to_list() == ["not run: A3 has no scores in this cell"]
    row = build(tmp_path, steps, unavailable={"A3": "no gold"}).row(0, named=True)
    assert row["status"] == "unavailable: A3 (no gold)"
    assert row["slope"] is None


def test_a_ladder_needs_two_different_steps(tmp_path):
    with pytest.raises(ValueError, match=r"ladder depth is \['A2'\]"):
        build(tmp_path, {"A2": np.full(15, 0.5)}, ladder=["A2"])

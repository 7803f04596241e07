"""Slopes per path depth level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.statistics.dose_response import build_dose_response, slopes
from tests.unit.scored_cells import RESAMPLING, documents_of, entry, make_scores

LADDER = {"A2": 0, "d1": 1, "d2": 2, "A3": 3}


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=6).filter(lambda depths: len(set(depths)) > 1),
    st.integers(1, 20),
    st.integers(0, 99),
)
def test_slope_is_that_of_polyfit(depths, queries, seed):
    values = np.random.default_rng(seed).uniform(0, 1, (queries, len(depths)))
    expected = np.polyfit(depths, values.T, 1)[0]
    assert slopes(values, depths) == pytest.approx(expected, abs=1e-12)


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
    steps = dict.fromkeys(list(LADDER)[:3], base)
    assert build(tmp_path, steps)["status"].to_list() == ["not run: A3 has no scores in this cell"]
    row = build(tmp_path, steps, unavailable={"A3": "no gold"}).row(0, named=True)
    assert row["status"] == "unavailable: A3 (no gold)"
    assert row["slope"] is None


@pytest.mark.parametrize("ladder", [{"A2": 0}, {"A2": 1, "A3": 1}])
def test_a_ladder_needs_two_depths(tmp_path, ladder):
    with pytest.raises(ValueError, match=r"ladder depth is .*; it has at least two depths"):
        build(tmp_path, dict.fromkeys(ladder, np.full(15, 0.5)), ladder=ladder)


def test_a_step_of_several_levels_counts_as_so_many(tmp_path):
    base = np.linspace(0.1, 0.5, 15)
    row = build(tmp_path, {"A2": base, "A3": base + 0.15}, ladder={"A2": 0, "A3": 3}).row(0, named=True)
    assert row["slope"] == pytest.approx(0.05)
    assert row["depths"] == [0, 3]

"""Standard error, minimal detectable effect and power; simulations are in tests/statistics."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from docstructure.contracts.power import POWER
from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.power import build_power, minimal_detectable_effect, power, precision
from tests.unit.scored_cells import documents_of, entry, make_scores


def test_one_query_a_document_gives_the_textbook_standard_error():
    delta = np.random.default_rng(2).normal(0.02, 0.3, 200)
    known = precision(delta, np.arange(200))
    assert known.se == pytest.approx(delta.std(ddof=1) / math.sqrt(200))
    assert known.design_effect == pytest.approx(1)
    assert known.effective_n == pytest.approx(200)


def test_copies_of_a_query_add_nothing():
    delta = np.random.default_rng(2).normal(0.02, 0.3, 100)
    once = precision(delta, np.arange(100))
    thrice = precision(np.repeat(delta, 3), np.repeat(np.arange(100), 3))
    assert thrice.se == pytest.approx(once.se)
    assert thrice.design_effect == pytest.approx(3, rel=0.01)


def test_standard_error_is_that_of_the_bootstrap():
    rng = np.random.default_rng(4)
    documents = np.repeat(np.arange(150), rng.integers(1, 9, 150))
    delta = rng.normal(0, 0.1, 150)[documents] + rng.normal(0, 0.1, len(documents))
    result = cluster_bootstrap(delta[:, None], documents, Resampling(10_000, 0.95, 1))
    width = result.ci_high[0] - result.ci_low[0]
    assert precision(delta, documents).se == pytest.approx(width / (2 * 1.959964), rel=0.03)


def test_constant_deltas_have_no_effective_size():
    known = precision(np.full(10, 0.3), np.repeat([0, 1], 5))
    assert (known.design_effect, known.effective_n) == (None, None)


@settings(deadline=None)
@given(st.floats(1e-4, 0.1), st.sampled_from([0.01, 0.05, 0.1]), st.floats(0.5, 0.99))
def test_power_at_the_mde_is_the_target(se, alpha, target):
    mde = minimal_detectable_effect(se, alpha, target)
    assert power(mde, se, alpha) == pytest.approx(target, abs=6e-4)


@settings(deadline=None)
@given(st.floats(0, 0.2), st.floats(1e-3, 0.1), st.sampled_from([0.01, 0.05]))
def test_power_is_that_of_a_shifted_normal(effect, se, alpha):
    edge = norm.ppf(1 - alpha / 2) * se
    expected = norm.sf(edge, effect, se) + norm.cdf(-edge, effect, se)
    assert power(effect, se, alpha) == pytest.approx(expected, abs=1e-9)


def test_power_at_no_effect_is_the_level():
    assert power(0, 0.01, 0.05) == pytest.approx(0.05)
    assert power(0, 0, 0.05) == 0
    assert power(0.1, 0, 0.05) == 1


def build(tmp_path, **changes):
    documents = documents_of([2, 3, 1, 4, 2])
    rng = np.random.default_rng(1)
    entries = [
        entry(name, "e", "none", make_scores(tmp_path / name, {"mrr": rng.uniform(0, 1, 12)}, documents=documents))
        for name in ("A3", "A1")
    ]
    table = tmp_path / "table.parquet"
    arguments = {
        "contrasts": {"C1": ["A3", "A1"], "C3": ["G3", "A3"]},
        "unavailable": {},
        "metrics": ["mrr"],
        "effects": [0.01, 0.1],
        "alpha": 0.05,
        "target_power": 0.8,
    }
    build_power(scores=entries, table=str(table), **(arguments | changes))
    return POWER.read(table)


def test_there_is_a_row_per_effect_of_what_can_be_tested(tmp_path):
    table = build(tmp_path)
    assert table["contrast"].to_list() == ["C1", "C1"]
    assert table["effect"].to_list() == [0.01, 0.1]
    assert table["power"][0] < table["power"][1]
    assert table["mde"][0] == pytest.approx(2.801585 * table["se"][0], rel=1e-6)
    assert (table["n_documents"] == 5).all()


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"alpha": 0.5}, "alpha is 0.5"), ({"target_power": 0.2}, "target_power is 0.2"), ({"effects": [-1]}, "effects")],
)
def test_options_out_of_range_are_refused(tmp_path, changes, says):
    with pytest.raises(ValueError, match=says):
        build(tmp_path, **changes)

"""Tolerance rules against their formulas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from docstructure.replication.tolerances import RULES, p_of, tolerance, z_of


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ({"half_ci": {"half_width": 0.0164}}, 0.0218, 0.0164),
        ({"borrowed_ci": {"half_width": 0.006, "of": "C1"}}, 0.019, 0.006),
        ({"scaled_ci": {"half_width": 0.01, "of": "C1", "n": 900, "n_type": 100}}, 0.05, 0.03),
        ({"from_p": {"p": 0.05}}, -0.004, 0.004),
        ({"share": {"n": 100}}, 0.5, 0.098),
        ({"count": {"n": 100}}, 50, 9.8),
        ({"standardised": {"n": 400}}, 0.1, 0.098),
        ({"absolute": {"by": 5.0, "because": "it is so"}}, 255, 5),
        ({"relative": {"by": 0.1, "because": "it is so"}}, -20, 2),
        ({"direction": {}}, 1, 0),
    ],
)
def test_tolerance_is_the_rules_and_half_a_printed_unit(rule, value, expected):
    allowed, reason = tolerance(value, 0.002, rule)
    assert allowed == pytest.approx(expected + 0.001, rel=1e-4)
    assert len(reason) > 10


@given(st.floats(2e-4, 1))
def test_z_and_p_are_inverse(p):
    assert p_of(z_of(p)) == pytest.approx(p, abs=1e-9)
    assert z_of(p) == pytest.approx(norm.isf(p / 2), abs=1e-6)


def test_p_of_a_z_beyond_zero_is_one():
    assert p_of(-1) == 1
    assert z_of(0) == z_of(2e-4)


@given(st.floats(2e-4, 0.99))
def test_p_tolerance_reaches_as_far_as_the_farther_side(p):
    allowed, _ = RULES["p_value"](p, {})
    assert 0 < allowed <= 1

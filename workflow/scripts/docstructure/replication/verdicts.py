"""Verdicts: within tolerance, same sign and significance, or different."""

from __future__ import annotations

from docstructure.contracts.replication import VERDICTS
from docstructure.replication.expected import Number
from docstructure.replication.run import SIGNIFICANT, Measured
from docstructure.replication.tolerances import Z, tolerance, z_of

WITHIN, SAME, DIFFERENT, NOT_MEASURED = VERDICTS
EPSILON = 1e-9
P_VALUES = ("p_holm", "p_mixedlm", "slope_p")
DIRECTIONAL = ("delta", "difference", "slope")


def compare(number: Number, measured: Measured) -> str:
    """Return the verdict on a number of a run on the paper's own corpus.

    A number that the paper claims a sign of is never within tolerance with the other sign. Outside the tolerance, sign
    and significance decide where the paper claims an effect or its absence; all else is different. A p-value is within
    tolerance only on the same side of 0.05.
    """
    if measured.value is None:
        return NOT_MEASURED
    if number.quantity in P_VALUES:
        return _compare_p(number, measured.value)
    if number.bound == "sign":
        return WITHIN if measured.value * number.value > 0 else DIFFERENT
    allowed, _ = tolerance(number.value, number.unit, number.tolerance)
    turned = number.claim == "effect" and measured.value * number.value <= 0
    if abs(measured.value - number.value) <= allowed + EPSILON and not turned:
        return WITHIN
    return SAME if number.claim and agrees(number, measured) else DIFFERENT


def agrees(number: Number, measured: Measured) -> bool:
    """Return whether a run finds what the paper claims: an effect of this sign, or none.

    Where a run has no test of the number, an effect is judged by its sign alone, and no effect cannot be confirmed.
    """
    if measured.value is None:
        return False
    if number.claim == "null":
        return measured.significant is False
    return measured.value * number.value > 0 and measured.significant is not False


def is_directional(number: Number) -> bool:
    """Return whether a number has a direction that another corpus can share."""
    untested = number.quantity == "difference"
    return number.quantity in DIRECTIONAL and number.claim in ({"effect"} if untested else {"effect", "null"})


def _compare_p(number: Number, p: float) -> str:
    # Half a unit of the last printed digit: 0.017 may have been 0.0174.
    if number.bound == "below":
        if p < number.value + EPSILON:
            return WITHIN
    elif (p < SIGNIFICANT) == (number.value < SIGNIFICANT) and (
        abs(z_of(p) - z_of(number.value)) <= Z or abs(p - number.value) <= number.unit / 2 + EPSILON
    ):
        return WITHIN
    return SAME if (p < SIGNIFICANT) == (number.value < SIGNIFICANT) else DIFFERENT

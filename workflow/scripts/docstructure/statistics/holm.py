"""Holm's step-down adjustment over the family of tested contrasts (paper D.3)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the given order.

    The i-th smallest of m (from 0) is multiplied by ``m - i``, under a running maximum, and clipped to 1.

    Raises
    ------
    ValueError
        If a value is not in [0, 1]; an untested contrast is left out of the family, not given as NaN.
    """
    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise ValueError(f"p-value {wrong[0]} is outside [0, 1]")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for position, index in enumerate(sorted(range(len(p_values)), key=lambda i: (p_values[i], i))):
        running = max(running, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = running
    return adjusted

"""How far a number may be from the paper's and still be the same finding, and why that far.

A rule takes the paper's value and what expected.yaml gives it, and returns a tolerance with its reason. A second run
differs from the first by regenerated structure, contexts and (on Wikipedia-FA) queries and pages: what the paper says
of its own uncertainty is the yardstick wherever it says something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

Z = NormalDist().inv_cdf(0.975)
SMALLEST_P = 2e-4
"""What 10,000 replicates can tell from 0."""

Rule = Callable[[float, Mapping[str, Any]], tuple[float, str]]


def half_ci(_: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return half the width of the paper's own interval."""
    return float(given["half_width"]), "half the width of the paper's 95 % interval of this contrast"


def borrowed_ci(_: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return half the width of the paper's interval of a contrast of the same corpus, where it prints no other."""
    return float(given["half_width"]), f"half the width of the paper's interval of {given['of']} on this corpus"


def scaled_ci(_: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return half the width of a contrast's interval, for a part of the queries."""
    factor = math.sqrt(given["n"] / given["n_type"])
    return given["half_width"] * factor, (
        f"half the width of the paper's interval of {given['of']}, "
        f"times sqrt({given['n']} / {given['n_type']} queries of this type)"
    )


def from_p(value: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return the half width of the interval that the printed p implies."""
    z = NormalDist().inv_cdf(1 - given["p"] / 2)
    return Z * abs(value) / z, f"half the width of the 95 % interval that the paper's p of {given['p']} implies"


def share(value: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return the sampling error of a mean in [0, 1]: no score with this mean varies more than a share does."""
    return Z * math.sqrt(value * (1 - value) / given["n"]), (
        f"sampling error of a mean over {given['n']} items: 1.96 · sqrt(m (1 - m) / n), "
        "the largest that a score in [0, 1] can have"
    )


def count(value: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return the binomial sampling error of a count."""
    chance = value / given["n"]
    return Z * math.sqrt(given["n"] * chance * (1 - chance)), f"binomial sampling error of a count of {given['n']}"


def standardised(_: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return the sampling error of a standardised mean delta."""
    return Z / math.sqrt(given["n"]), f"sampling error of a standardised mean of {given['n']} deltas: 1.96 / sqrt(n)"


def absolute(_: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return a stated distance."""
    return float(given["by"]), f"{given['by']}: {given['because']}"


def relative(value: float, given: Mapping[str, Any]) -> tuple[float, str]:
    """Return a stated part of the value."""
    return given["by"] * abs(value), f"{given['by']:.0%}: {given['because']}"


def p_value(value: float, _: Mapping[str, Any]) -> tuple[float, str]:
    """Return the distance to the farther p whose z is 1.96 away: the tolerance of a delta, on the scale of p."""
    z = z_of(value)
    return max(p_of(z - Z) - value, value - p_of(z + Z)), (
        "z within 1.96 of the paper's, as half an interval is for the delta, and on the same side of 0.05"
    )


def direction(_: float, __: Mapping[str, Any]) -> tuple[float, str]:
    """Return no distance: the paper gives the sign alone."""
    return 0.0, "the paper gives the sign alone"


RULES: dict[str, Rule] = {
    "half_ci": half_ci,
    "borrowed_ci": borrowed_ci,
    "scaled_ci": scaled_ci,
    "from_p": from_p,
    "share": share,
    "count": count,
    "standardised": standardised,
    "absolute": absolute,
    "relative": relative,
    "p_value": p_value,
    "direction": direction,
}


def tolerance(value: float, unit: float, rule: Mapping[str, Mapping[str, Any]]) -> tuple[float, str]:
    """Return the largest difference that is within tolerance, the rounding of the printed value included, and why."""
    (name, given), *_ = rule.items()
    distance, reason = RULES[name](value, given)
    return distance + unit / 2, reason


def z_of(p: float) -> float:
    """Return the z of a two-sided p; a p that replicates cannot tell from 0 is that of the smallest they can."""
    return NormalDist().inv_cdf(1 - max(p, SMALLEST_P) / 2)


def p_of(z: float) -> float:
    """Return the two-sided p of a z; 1 for what is on the other side of 0."""
    return 2 * (1 - NormalDist().cdf(max(z, 0.0)))

"""How a number is printed for people: one place for signs, intervals, p-values and shares."""

from __future__ import annotations

import math

MISSING = "n/a"
MINUS = "−"


def fixed(value: object, digits: int = 3) -> str:
    """Return a number with `digits` decimals; n/a where there is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return MISSING
    text = f"{value:.{digits}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", MINUS)


def signed(value: object, digits: int = 4) -> str:
    """Return a difference with its sign; what rounds to 0 has none."""
    text = fixed(value, digits)
    if text == MISSING or text.startswith(MINUS) or float(text) == 0:
        return text
    return f"+{text}"


def interval(low: object, high: object, digits: int = 4) -> str:
    """Return both ends of an interval of a difference."""
    return f"[{signed(low, digits)}, {signed(high, digits)}]"


def p_value(value: object, smallest: float) -> str:
    """Return a p-value; what the replicates cannot tell from 0 is below the `smallest` that they can tell."""
    if not isinstance(value, float) or math.isnan(value):
        return MISSING
    return f"< {smallest:g}" if value < smallest else f"{value:.4f}"


def p_relation(value: object, smallest: float) -> str:
    """Return a p-value as it stands in a sentence: ``= 0.0170`` or ``< 0.0002``."""
    text = p_value(value, smallest)
    return text if text.startswith("<") else f"= {text}"


def count(value: object) -> str:
    """Return a whole number with separated thousands."""
    return f"{value:,}" if isinstance(value, int) else MISSING


def counted(value: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: ``1 document``, ``1,508 documents``."""
    return f"{value:,} {noun if value == 1 else nouns or noun + 's'}"


def share(value: object, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{fixed(value * 100, digits)} %" if isinstance(value, (int, float)) else MISSING


def general(value: object) -> str:
    """Return a number of any size with four significant digits, and integers whole."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, float):
        if not math.isfinite(value):
            return MISSING
        if value == int(value) and abs(value) < 1e15:
            return f"{int(value):,}".replace("-", MINUS)
        return f"{value:.4g}".replace("-", MINUS)
    return MISSING


def joined(names: list[str]) -> str:
    """Return names as a phrase: ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""

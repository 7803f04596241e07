"""How tokens are drawn; part of the cache key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    Parameters
    ----------
    temperature
        0 is greedy. Not the same bits in every batch all the same: what was generated is cached.
    top_p
        Share of probability that is drawn from.
    seed
        Of every request.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 20260710

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ValueError(f"temperature is {self.temperature}; it is at least 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; it is above 0 and at most 1")

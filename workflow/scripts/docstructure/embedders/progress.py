"""Progress of a long computation as plain lines on stderr, which read well in a job's log."""

from __future__ import annotations

import sys
import time

EVERY_SECONDS = 5.0


class Progress:
    """Says from time to time how far a computation is, how fast, and how long it will take.

    Parameters
    ----------
    label
        What is computed.
    total
        How many there are.
    unit
        Of what.
    every
        Seconds between two lines.
    """

    def __init__(self, label: str, total: int, unit: str, every: float = EVERY_SECONDS) -> None:
        self._label, self._total, self._unit, self._every = label, total, unit, every
        self._count = 0
        self._began = self._said = time.monotonic()

    def advance(self, count: int, done: float) -> None:
        """Count some more; `done` is the share of all the work that is done (longer texts take longer)."""
        self._count += count
        now = time.monotonic()
        if now - self._said >= self._every and self._count < self._total and done > 0:
            self._said = now
            seconds = now - self._began
            print(
                f"{self._label}: {self._count} of {self._total} {self._unit}, {self._count / seconds:.1f} a second, "
                f"{_duration(seconds / done - seconds)} left",
                file=sys.stderr,
                flush=True,
            )

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

"""Whether a run is fit to be cited: every invariant of the design holds on every corpus."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from docstructure.report.numbers import counted, general, joined

FIT, UNFIT, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Verdict:
    """The audit in a word: `failed` holds corpus, invariant, value and limit of what does not hold."""

    n_invariants: int
    failed: tuple[tuple[str, str, float, float], ...]

    @property
    def fit(self) -> bool:
        """Whether every invariant holds, and at least one was measured."""
        return self.n_invariants > 0 and not self.failed

    @property
    def headline(self) -> str:
        """The verdict as a line."""
        if self.n_invariants == 0:
            return "UNFIT: no invariant was measured"
        if not self.failed:
            held = "the one design invariant holds" if self.n_invariants == 1 else "all {:,} design invariants hold"
            return f"Fit: {held.format(self.n_invariants)}"
        corpora = list(dict.fromkeys(corpus for corpus, *_ in self.failed))
        n = len(self.failed)
        verb = "does not hold" if n == 1 else "do not hold"
        return f"UNFIT: {counted(n, 'design invariant')} of {self.n_invariants:,} {verb} on {joined(corpora)}"


def judge(audit: pl.DataFrame) -> Verdict:
    """Return the verdict on an audit table with a ``corpus`` column."""
    failed = audit.filter(~pl.col("holds")).select("corpus", "invariant", "value", "limit")
    return Verdict(audit.height, tuple(failed.iter_rows()))


def main(arguments: Sequence[str]) -> int:
    """Print the verdict on a finished report and where it lies; return 0 when fit, 1 when unfit, 2 when there is none.

    Parameters
    ----------
    arguments
        The report's folder: ``results/report``.
    """
    if len(arguments) != 1:
        print("usage: python -m docstructure.report.verdict results/report", file=sys.stderr)
        return UNKNOWN
    folder = Path(arguments[0])
    page, table = folder / "index.html", folder / "tables" / "audit.parquet"
    missing = [str(path) for path in (page, table) if not path.is_file()]
    if missing:
        print(f"no report: {joined(missing)} not found; run the workflow first", file=sys.stderr)
        return UNKNOWN
    verdict = judge(pl.read_parquet(table))
    print(verdict.headline)
    for corpus, invariant, value, limit in verdict.failed:
        print(f"  {corpus}: {invariant}: {general(value)}, limit {general(limit)}")
    print(f"Report: {page}")
    return FIT if verdict.fit else UNFIT


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

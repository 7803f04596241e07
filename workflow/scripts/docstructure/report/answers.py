"""The answer to each contrast, in words that follow from its row: verdict, evidence, and what remains unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from docstructure.report.numbers import counted, fixed, interval, joined, p_relation, share, signed

Row = Mapping[str, Any]

# Verdict -> the answer where it stands alone, and where it is one of several; filled with both conditions.
ANSWERS = {
    "higher": ("Yes: {0} beats {1}", "{0} beats {1}"),
    "lower": ("No: {0} does worse than {1}", "{0} does worse than {1}"),
    "suggestive": ("Not shown: {0} and {1} differ by the interval alone", "not shown"),
    "undetected": ("No difference between {0} and {1} detected", "no difference detected"),
    "untested": ("Not tested", "not tested"),
}

# Cohen's conventions for standardised differences, from the largest down.
COHEN = ((0.8, "large"), (0.5, "medium"), (0.2, "small"))


@dataclass(frozen=True)
class Inference:
    """How the contrasts were tested.

    Parameters
    ----------
    alpha
        Level of the tests.
    bootstrap_iters
        Replicates: a p below 2 / bootstrap_iters is not told from 0.
    """

    alpha: float
    bootstrap_iters: int

    @property
    def smallest(self) -> float:
        """The smallest p that the replicates can tell from 0."""
        return 2 / self.bootstrap_iters

    @property
    def confidence(self) -> str:
        """Confidence of the intervals, in words."""
        return f"{(1 - self.alpha) * 100:g} % CI"

    def decisive_p(self, row: Row) -> tuple[float | None, float, str]:
        """Return the p that decides about a contrast, the smallest that it can be told from 0, and its name."""
        if row["p_holm"] is not None:
            return row["p_holm"], self.smallest * int(row["family_size"] or 1), "Holm-adjusted p"
        return row["p"], self.smallest, "unadjusted p"


@dataclass(frozen=True)
class Finding:
    """What one contrast shows on one corpus."""

    corpus: str
    verdict: str
    sentence: str


def classify(row: Row, inference: Inference) -> str:
    """Return the verdict on a contrast: higher, lower, suggestive, undetected or untested.

    Suggestive: the interval excludes 0 but the (Holm-adjusted) p is not below alpha.
    """
    p = inference.decisive_p(row)[0]
    if row["status"] != "tested" or p is None:
        return "untested"
    if p < inference.alpha:
        return "higher" if row["delta"] > 0 else "lower"
    outside = row["ci_low"] is not None and (row["ci_low"] > 0 or row["ci_high"] < 0)
    return "suggestive" if outside else "undetected"


def find(row: Row, inference: Inference, base: float | None, detectable: float | None) -> Finding:
    """Return the finding of a row of contrasts.

    Parameters
    ----------
    base
        Mean of the subtrahend; None where unknown.
    detectable
        Minimal detectable effect; None where unknown.
    """
    verdict = classify(row, inference)
    if verdict == "untested":
        return Finding(
            row["corpus"], verdict, f"{row['minuend']} − {row['subtrahend']} was not tested: {row['status']}."
        )
    evidence = _evidence(row, inference)
    if verdict in ("higher", "lower"):
        sentence = _effect(row, verdict, evidence, base)
    elif verdict == "suggestive":
        sentence = (
            f"{row['minuend']} − {row['subtrahend']} is {signed(row['delta'])} {evidence}. The interval alone "
            "excludes 0, the test that counts does not: this is no evidence yet."
        )
    else:
        sentence = (
            f"{row['minuend']} and {row['subtrahend']} cannot be told apart: {signed(row['delta'])} {evidence}."
            f"{_bound(row, detectable)}"
        )
    return Finding(row["corpus"], verdict, sentence)


def _evidence(row: Row, inference: Inference) -> str:
    p, smallest, name = inference.decisive_p(row)
    sample = f"{counted(row['n_queries'], 'query', 'queries')} on {counted(row['n_documents'], 'document')}"
    tested = f"{name} {p_relation(p, smallest)}"
    return f"({inference.confidence} {interval(row['ci_low'], row['ci_high'])}, {tested}; {sample})"


def _effect(row: Row, verdict: str, evidence: str, base: float | None) -> str:
    relative = f", {share(abs(row['delta']) / base)} of {row['subtrahend']}'s mean of {fixed(base)}" if base else ""
    return (
        f"{row['minuend']} scores {verdict} than {row['subtrahend']} by {fixed(abs(row['delta']), 4)} "
        f"{evidence}{relative}.{_size(row['dz'])}"
    )


def _size(dz: float | None) -> str:
    if dz is None:
        return ""
    name = next((word for least, word in COHEN if abs(dz) >= least), "very small")
    return f" Per query the effect is {name} (d_z = {signed(dz, 2)})."


def _bound(row: Row, detectable: float | None) -> str:
    if row["ci_low"] is None:
        return ""
    largest = max(abs(row["ci_low"]), abs(row["ci_high"]))
    known = f" An effect beyond ±{fixed(largest, 4)} is unlikely; a smaller one is neither shown nor excluded."
    if detectable is not None:
        known += f" In a single test, before any correction, this corpus detects {fixed(detectable, 4)} reliably."
    return known


def overall(findings: Sequence[Finding], pair: Sequence[str]) -> str:
    """Return the answer over all corpora: one verdict where they agree, and where they do not, who says what.

    Parameters
    ----------
    pair
        Minuend and subtrahend.
    """
    corpora: dict[str, list[str]] = {}
    for finding in findings:
        if finding.verdict != "untested":
            corpora.setdefault(finding.verdict, []).append(finding.corpus)
    if not corpora:
        return ANSWERS["untested"][0]
    alone = len(corpora) == 1
    said = [
        f"{ANSWERS[verdict][0 if alone else 1].format(*pair)} on {joined(names)}" for verdict, names in corpora.items()
    ]
    return said[0] if alone else f"It depends on the corpus: {'; '.join(said)}"


def primary(table: pl.DataFrame, cell: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows of a table that stand in the pre-registered cell (of the columns that the table has)."""
    for column in ("metric", "embedder", "reranker"):
        if column in table.columns:
            table = table.filter(pl.col(column) == cell[column])
    return table

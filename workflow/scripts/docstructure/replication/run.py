"""What a run measured: each number of the paper looked up in the run's tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import polars as pl

from docstructure.replication.expected import Number

SIGNIFICANT = 0.05
NONE = "none"
MATCHING = ("exact", "fuzzy", "section", "unmatched")
"""Reasons of the evidence funnel that are of text, as against figures and empty strings."""


@dataclass(frozen=True)
class Measured:
    """What a run has for a number: its value and significance where there are some, and what they rest on."""

    value: float | None
    significant: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Run:
    """The tables of one corpus of a run, and what the paper's roles are called in it.

    Parameters
    ----------
    tables
        Name to table: contrasts, means, dose_response, per_type and the diagnostics; those that are absent are not
        measured.
    embedders, rerankers
        The paper's role to the name in this run.
    conditions
        The paper's conditions: a run may have others, which no range of the paper is over.
    """

    tables: Mapping[str, pl.DataFrame]
    embedders: Mapping[str, str]
    rerankers: Mapping[str, str]
    conditions: Collection[str]

    def measure(self, number: Number) -> Measured:
        """Return what this run has for a number of the paper."""
        if number.table:
            return self._column(number)
        return QUANTITIES[number.quantity](self, number)

    def _row(self, table: str, **where: str) -> dict[str, object] | None:
        """Return the first row of a table where the columns have these values."""
        frame = self.tables.get(table)
        if frame is None or not frame.height:
            return None
        rows = frame.filter(pl.all_horizontal(pl.col(column) == value for column, value in where.items()))
        return rows.row(0, named=True) if rows.height else None

    def _place(self, number: Number) -> dict[str, str]:
        return {
            "metric": number.metric,
            "embedder": self.embedders.get(number.embedder, number.embedder),
            "reranker": self.rerankers.get(number.reranker, number.reranker),
        }

    def _column(self, number: Number) -> Measured:
        row = self._row(number.table, **number.where)
        where = ", ".join(f"{column} {value}" for column, value in number.where.items())
        if row is None:
            return Measured(None, note=f"{number.table}: no row with {where}")
        return _value(row[number.quantity], f"{number.table}, {where}")

    def _contrast(self, number: Number) -> Measured:
        row = self._row("contrasts", contrast=number.subject, **self._place(number))
        if row is None or row["status"] != "tested":
            return Measured(None, note="no such contrast was tested" if row is None else str(row["status"]))
        stated, p_column = ("Holm", "p_holm") if row["p_holm"] is not None else ("unadjusted", "p")
        p = float(str(row[p_column]))
        found = _value(row[number.quantity], _said(p, stated))
        return Measured(found.value, p < SIGNIFICANT, found.note)

    def _mean(self, condition: str, number: Number, reranker: str | None = None) -> float | None:
        place = self._place(number)
        if reranker is not None:
            place["reranker"] = self.rerankers.get(reranker, reranker)
        row = self._row("means", condition=condition, **place)
        return None if row is None else float(str(row["mean"]))

    def _condition(self, number: Number) -> Measured:
        mean = self._mean(number.subject, number)
        return Measured(mean, note="" if mean is not None else f"{number.subject} was not run in this cell")

    def _difference(self, number: Number) -> Measured:
        minuend, subtrahend = number.subject.split(" - ")
        sides = self._mean(minuend, number), self._mean(subtrahend, number)
        if sides[0] is None or sides[1] is None:
            return Measured(None, note=f"{minuend if sides[0] is None else subtrahend} was not run in this cell")
        tested = self._row("contrasts", minuend=minuend, subtrahend=subtrahend, status="tested", **self._place(number))
        if tested is None:
            return Measured(sides[0] - sides[1], None, "difference of means; not tested")
        p = float(str(tested["p"]))
        return Measured(
            sides[0] - sides[1], p < SIGNIFICANT, f"contrast {tested['contrast']}, {_said(p, 'unadjusted')}"
        )

    def _relative(self, number: Number) -> Measured:
        difference, base = self._difference(number), self._mean(number.subject.split(" - ")[1], number)
        if difference.value is None or not base:
            return Measured(None, note=difference.note or "the mean that it is a part of is 0")
        return Measured(difference.value / base, None, "difference of means over the subtrahend's; not tested")

    def _slope(self, number: Number) -> Measured:
        row = self._row("dose_response", ladder=number.subject, **self._place(number))
        if row is None or row["slope"] is None:
            return Measured(None, note="no such ladder was fitted" if row is None else str(row["status"]))
        p = float(str(row["p"]))
        value = p if number.quantity == "slope_p" else float(str(row["slope"]))
        return Measured(value, p < SIGNIFICANT, _said(p, "unadjusted"))

    def _type(self, number: Number) -> Measured:
        contrast, kind = number.subject.split(" / ")
        row = self._row("per_type", contrast=contrast, type=kind, **self._place(number))
        if row is None or row["delta"] is None:
            return Measured(None, note="no such type was tested" if row is None else str(row["status"]))
        # The paper prints no p for a type: only its sign is claimed.
        return Measured(float(str(row["delta"])), None, _said(float(str(row["p"])), "unadjusted"))

    def _gain(self, number: Number) -> Measured:
        gains = {}
        for condition in self.conditions:
            after, before = self._mean(condition, number), self._mean(condition, number, NONE)
            if after is not None and before is not None:
                gains[condition] = after - before
        return _extreme(gains, number.quantity, "no condition was run with and without the reranker")

    def _section_recall(self, number: Number) -> Measured:
        means = self.tables.get("means")
        rows = {}
        if means is not None:
            chosen = means.filter(
                (pl.col("metric") == "section_recall")
                & (pl.col("reranker") == self.rerankers.get(NONE, NONE))
                & pl.col("embedder").is_in(list(self.embedders.values()))
                & pl.col("condition").is_in(list(self.conditions))
            )
            rows = {f"{row['condition']}/{row['embedder']}": row["mean"] for row in chosen.iter_rows(named=True)}
        return _extreme(rows, number.quantity, "no two-stage cell of the paper was run")

    def _evidence(self, _: Number) -> Measured:
        funnel = self.tables.get("funnel_summary")
        if funnel is None:
            return Measured(None, note="no evidence funnel")
        rows = funnel.filter((pl.col("stage") == "evidence") & pl.col("reason").is_in(MATCHING))
        total = int(rows["n"].sum())
        if not total:
            return Measured(None, note="no evidence funnel")
        exact = int(rows.filter(pl.col("reason") == MATCHING[0])["n"].sum())
        return Measured(exact / total, note=f"{exact} of {total} evidence strings of text")


QUANTITIES: dict[str, Callable[[Run, Number], Measured]] = {
    **dict.fromkeys(("delta", "ci_low", "ci_high", "p_holm", "p_mixedlm", "dz"), Run._contrast),
    "relative_difference": Run._relative,
    "mean": Run._condition,
    "difference": Run._difference,
    **dict.fromkeys(("slope", "slope_p"), Run._slope),
    "type_delta": Run._type,
    **dict.fromkeys(("gain_min", "gain_max"), Run._gain),
    **dict.fromkeys(("section_recall_min", "section_recall_max"), Run._section_recall),
    "evidence_exact": Run._evidence,
}


def _value(value: object, note: str) -> Measured:
    return Measured(None, note=f"{note}: no value") if value is None else Measured(float(str(value)), note=note)


def _said(p: float, adjustment: str) -> str:
    """Return a p-value in words; a 0 is of replicates none of which lay on the other side."""
    return f"p {p:.4g} ({adjustment})" if p else f"p below what the replicates can tell from 0 ({adjustment})"


def _extreme(values: Mapping[str, float], quantity: str, missing: str) -> Measured:
    """Return the smallest or largest of some values, as the quantity's name says, and whose it is."""
    if not values:
        return Measured(None, note=missing)
    which = (min if quantity.endswith("_min") else max)(values, key=lambda name: values[name])
    return Measured(values[which], note=f"{which}, of {len(values)}")

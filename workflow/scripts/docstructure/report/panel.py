"""What a section of the report is made of: a lead sentence, figures, and the numbers behind them as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from docstructure.report.answers import Inference
from docstructure.report.numbers import general, joined, p_value, signed

DIFFERENCES = frozenset({"delta", "slope", "paired_delta", "draws_mean", "draws_low", "draws_high"})
"""Columns that hold differences: printed with their sign; so are the ends of their intervals."""

ROWS_SHOWN = 400
"""Rows of a table that stand in the page; the files beside it hold all."""


@dataclass(frozen=True)
class Table:
    """A table as text; `numeric` says which columns stand to the right."""

    title: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int
    failed: tuple[bool, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether the page shows only the first rows."""
        return self.n_rows > len(self.rows)


@dataclass(frozen=True)
class Plot:
    """An SVG figure with its caption."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Panel:
    """One section of the report."""

    name: str
    title: str
    lead: str = ""
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    exploratory: bool = False
    open: bool = False
    """Whether its tables stand open."""


def tabulate(
    frame: pl.DataFrame, title: str, columns: Mapping[str, str] | None = None, inference: Inference | None = None
) -> Table:
    """Return a frame as a table of text.

    Parameters
    ----------
    columns
        Column -> heading of what is shown, in order; all columns under their own names by default.
    inference
        With it, bootstrap p-values that the replicates cannot tell from 0 are printed as below the smallest they can.
    """
    columns = columns or {name: name for name in frame.columns}
    shown = frame.select(*columns).head(ROWS_SHOWN)
    numeric = tuple(dtype.is_numeric() for dtype in shown.dtypes)
    failed = tuple(not holds for holds in frame["holds"].head(ROWS_SHOWN)) if "holds" in frame.columns else ()
    printers = [_printer(name, frame, inference) for name in columns]
    rows = tuple(tuple(write(value) for write, value in zip(printers, row, strict=True)) for row in shown.iter_rows())
    return Table(title, tuple(columns.values()), numeric, rows, frame.height, failed)


def _printer(name: str, frame: pl.DataFrame, inference: Inference | None) -> Callable[[Any], str]:
    """Return what prints a column: p-values and differences as everywhere in the page, the rest by type."""
    ends = name in ("ci_low", "ci_high") and not DIFFERENCES.isdisjoint(frame.columns)
    if name in DIFFERENCES or ends:
        return lambda value: "–" if value is None else signed(value)
    if name == "dz":
        return lambda value: "–" if value is None else signed(value, 2)
    if inference is None or name not in ("p", "p_holm"):
        return cell
    sizes = frame["family_size"].drop_nulls().to_list() if "family_size" in frame.columns else []
    smallest = inference.smallest * (max(sizes, default=1) if name == "p_holm" else 1)
    return lambda value: "–" if value is None else p_value(value, smallest)


def cell(value: Any) -> str:  # noqa: ANN401 (any value of a frame)
    """Return one value as text; an absent one is a dash."""
    if value is None:
        return "–"
    if isinstance(value, (bool, int, float)):
        return general(value)
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return str(value)


def without(corpora: Sequence[str], what: str) -> list[str]:
    """Return the sentence that says of which corpora something was not made; none where all have it."""
    return [f"{what} was not made for {joined(list(corpora))}."] if corpora else []

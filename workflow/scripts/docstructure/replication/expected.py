"""The paper's numbers, as resources/expected.yaml lists them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docstructure.replication.tolerances import RULES

BOUNDS = ("exactly", "below", "sign")
CLAIMS = ("effect", "null", "")
OVER_CELLS = ("section_recall_min", "section_recall_max")
"""Quantities over several cells of the paper: they name no embedder, and depend on which were run."""


class ExpectedError(ValueError):
    """resources/expected.yaml says something that cannot be compared; the message names the number."""


@dataclass(frozen=True)
class Number:
    """One number of the paper.

    Parameters
    ----------
    id, source, corpus
        Its name, where it stands in the paper, and of which corpus of the paper it is.
    quantity, subject
        What it is, and of which contrast, condition or table.
    value, unit
        The number, and one unit of its last printed digit.
    tolerance
        One rule of `docstructure.replication.tolerances`, with what it needs.
    metric, embedder, reranker
        The cell, by the paper's roles (weak, strong; none, cross_encoder); empty for a diagnostic, and for what is
        over several cells.
    table, where
        Diagnostics table whose column `quantity` is it, and the row; empty where it is computed.
    bound
        ``exactly``, ``below`` (p < value) or ``sign`` (only its sign is known).
    claim
        ``effect`` where the paper claims the sign, ``null`` where it claims no effect, else empty.
    """

    id: str
    source: str
    corpus: str
    quantity: str
    subject: str
    value: float
    unit: float
    tolerance: Mapping[str, Mapping[str, Any]]
    metric: str = ""
    embedder: str = ""
    reranker: str = ""
    table: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    bound: str = "exactly"
    claim: str = ""

    def __post_init__(self) -> None:
        if self.bound not in BOUNDS or self.claim not in CLAIMS:
            raise ExpectedError(f"{self.id}: bound {self.bound!r}, claim {self.claim!r}; see the head of expected.yaml")
        if len(self.tolerance) != 1 or next(iter(self.tolerance)) not in RULES:
            raise ExpectedError(f"{self.id}: tolerance {dict(self.tolerance)} is not one rule of {', '.join(RULES)}")
        if self.unit <= 0:
            raise ExpectedError(f"{self.id}: unit is {self.unit}; it is one unit of the last printed digit")

    @property
    def of_cells(self) -> bool:
        """Whether it depends on an embedder; diagnostics do not."""
        return bool(self.embedder) or self.quantity in OVER_CELLS


@dataclass(frozen=True)
class Expected:
    """All numbers of the paper, and what its roles (embedders, rerankers) are called in the config."""

    roles: Mapping[str, Mapping[str, str]]
    numbers: tuple[Number, ...]

    @property
    def corpora(self) -> tuple[str, ...]:
        """The paper's corpora."""
        return tuple(dict.fromkeys(number.corpus for number in self.numbers))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The paper's conditions: those that it prints a mean of."""
        return tuple(dict.fromkeys(number.subject for number in self.numbers if number.quantity == "mean"))


def load(path: str) -> Expected:
    """Read expected.yaml.

    Raises
    ------
    ExpectedError
        If a number lacks a key, has an unknown one, or stands twice; the message names it.
    """
    import yaml

    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    known = {entry.name for entry in dataclasses.fields(Number)}
    numbers: list[Number] = []
    for entry in content["numbers"]:
        unknown = sorted(set(entry) - known)
        if unknown:
            raise ExpectedError(f"{path}: {entry.get('id')}: unknown key {', '.join(unknown)}")
        try:
            number = Number(**(entry | {"value": float(entry["value"]), "unit": float(entry["unit"])}))
        except (TypeError, KeyError) as error:
            raise ExpectedError(f"{path}: {entry.get('id')}: {error}") from None
        if number.id in {other.id for other in numbers}:
            raise ExpectedError(f"{path}: {number.id} stands twice")
        numbers.append(number)
    return Expected(content["roles"], tuple(numbers))

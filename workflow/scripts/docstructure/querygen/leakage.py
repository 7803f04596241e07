"""The lexical-leakage filter: does a query copy the evidence that it asks for (paper 4.1, F)?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docstructure.words import words


@dataclass(frozen=True)
class Limits:
    """What counts as a copy.

    Parameters
    ----------
    max_rouge_l
        A ROUGE-L F1 above this leaks, 0..1.
    ngram
        So many consecutive words in common leak, whatever stands between them. A character is a word in scripts
        without spaces, where 8 may be the better number.
    """

    max_rouge_l: float = 0.35
    ngram: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.max_rouge_l <= 1:
            raise ValueError(f"max_rouge_l is {self.max_rouge_l}; it is between 0 and 1")
        if self.ngram < 1:
            raise ValueError(f"ngram is {self.ngram}; it is at least 1")


def leak(query: str, spans: Iterable[str], limits: Limits | None = None) -> str:
    """Return why a query leaks its evidence; empty when it does not.

    A query without any word says nothing about leakage and is rejected as well.

    Parameters
    ----------
    query
        The query.
    spans
        The text of each gold span; each is compared on its own.
    limits
        What counts as a copy; the paper's when None.
    """
    allowed = limits or Limits()
    asked = words(query)
    if not asked:
        return "no words"
    for span in spans:
        evidence = words(span)
        shared = shared_ngram(asked, evidence, allowed.ngram)
        if shared:
            return f"shared {allowed.ngram}-gram: {' '.join(shared)}"
        score = rouge_l(asked, evidence)
        if score > allowed.max_rouge_l:
            return f"rouge_l: {score:.3f}"
    return ""


def rouge_l(a: Sequence[str], b: Sequence[str]) -> float:
    """Return ROUGE-L F1 of two word sequences, as rouge_score has it; 0 where one is empty."""
    common = lcs_length(a, b)
    if not common:
        return 0.0
    precision, recall = common / len(a), common / len(b)
    return 2 * precision * recall / (precision + recall)


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    One big integer holds a row of the usual table, one bit per word of `a` (Hyyrö 2004).
    """
    where: dict[str, int] = {}
    for index, word in enumerate(a):
        where[word] = where.get(word, 0) | 1 << index
    full = (1 << len(a)) - 1
    row = full
    for word in b:
        matched = row & where.get(word, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(a) - row.bit_count()


def shared_ngram(a: Sequence[str], b: Sequence[str], n: int) -> tuple[str, ...]:
    """Return the first n words of `a` that stand in a row in `b` too; nothing where there are none."""
    others = {tuple(b[index : index + n]) for index in range(len(b) - n + 1)}
    grams = (tuple(a[index : index + n]) for index in range(len(a) - n + 1))
    return next((gram for gram in grams if gram in others), ())

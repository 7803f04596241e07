"""BM25 as rank_bm25's BM25Okapi computes it, with all weights in one sparse matrix (paper, appendix I).

A text's score is the sum, over the words of the query in order (repeated ones each time), of

    idf(word) · f · (k1 + 1) / (f + k1 · (1 - b + b · length / mean length))

with f the word's frequency in the text. idf is ``log(N - n + 0.5) - log(n + 0.5)``; where it is negative, that is for a
word in more than half of the texts, ``epsilon`` times the mean idf of all words takes its place, and for a word in
exactly half of them it is 0. Weights and sums are the same floating-point operations in the same order as rank_bm25's,
so that scores are equal to the bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True)
class Parameters:
    """BM25's parameters, rank_bm25's defaults.

    Parameters
    ----------
    k1
        How slowly a word's repetition saturates.
    b
        How much a text's length counts, 0..1.
    epsilon
        Share of the mean idf that a word in more than half of the texts gets.
    """

    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25


class Index:
    """The weights of every word in every text.

    Parameters
    ----------
    texts
        The words of each text.
    parameters
        rank_bm25's when None.

    Raises
    ------
    ValueError
        If there is no word in any text.
    """

    def __init__(self, texts: Iterable[Sequence[str]], parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()
        self._columns: dict[str, int] = {}
        self._weights = self._weigh(texts)

    def __len__(self) -> int:
        return int(self._weights.shape[0])

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every text; words that no text has add nothing."""
        scores = np.zeros(len(self))
        pointers, rows, data = self._weights.indptr, self._weights.indices, self._weights.data
        for word in query:
            column = self._columns.get(word)
            if column is not None:
                part = slice(pointers[column], pointers[column + 1])
                scores[rows[part]] += data[part]
        return scores

    def top(self, query: Sequence[str]) -> tuple[int, float] | None:
        """Return the first of the texts with the best score, and that score; None where no text scores above 0."""
        scores = self.scores(query)
        best = int(scores.argmax())
        return (best, float(scores[best])) if scores[best] > 0 else None

    def _weigh(self, texts: Iterable[Sequence[str]]) -> csc_array:
        from scipy.sparse import csc_array

        lengths: list[int] = []
        rows: list[int] = []
        columns: list[int] = []
        frequencies: list[int] = []
        for row, text in enumerate(texts):
            lengths.append(len(text))
            for word, frequency in Counter(text).items():
                rows.append(row)
                columns.append(self._columns.setdefault(word, len(self._columns)))
                frequencies.append(frequency)
        if not rows:
            raise ValueError("BM25 needs a text with a word")
        k1, b = self.parameters.k1, self.parameters.b
        row_of, column_of = np.array(rows), np.array(columns)
        frequency_of, length_of = np.array(frequencies), np.array(lengths)[row_of]
        mean_length = sum(lengths) / len(lengths)
        saturated = frequency_of * (k1 + 1) / (frequency_of + k1 * (1 - b + b * length_of / mean_length))
        data = self._idf(np.bincount(column_of), len(lengths))[column_of] * saturated
        # a text's words were met once each: nothing is summed, nothing rounded again
        return csc_array((data, (row_of, column_of)), shape=(len(lengths), len(self._columns)))

    def _idf(self, document_frequencies: NDArray[np.int64], n_texts: int) -> NDArray[np.float64]:
        counts = document_frequencies.tolist()
        logarithms = {n: math.log(n_texts - n + 0.5) - math.log(n + 0.5) for n in set(counts)}
        idf = [logarithms[n] for n in counts]
        # one after the other, in the order in which words are first met, as rank_bm25 does: no compensated sum
        total = 0.0
        for value in idf:
            total += value
        floor = self.parameters.epsilon * (total / len(idf))
        return np.array([floor if value < 0 else value for value in idf])

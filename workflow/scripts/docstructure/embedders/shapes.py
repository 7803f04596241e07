"""Batches whose shape depends on a text's own length alone, never on the company it is computed in (design.md §6).

A matrix product may add up in another order when its shape changes, so a text's vector could differ in its last bits
between one batch and another. Here every text is padded to a bucket (the next multiple of `step` tokens) and every
batch has the same number of rows, filled up with empty ones: the shapes in which a text is computed follow from its
length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """One batch: which texts stand in its first rows, and how many tokens wide it is."""

    texts: NDArray[np.intp]
    width: int


@dataclass(frozen=True)
class Shapes:
    """The shapes that batches may have.

    Parameters
    ----------
    step
        Widths are multiples of this many tokens ...
    limit
        ... and at most this many: the model's limit.
    rows
        Rows of every batch.
    """

    step: int
    limit: int
    rows: int

    def __post_init__(self) -> None:
        for key, value in (("length_step", self.step), ("max_length", self.limit), ("batch_rows", self.rows)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{key} is {value!r}; it must be a whole number of at least 1")

    def widths(self, lengths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the width to which a text of each length (in tokens) is padded."""
        return np.minimum(-(-lengths // self.step) * self.step, self.limit).astype(np.int32)

    def plan(self, lengths: NDArray[np.int32]) -> list[Batch]:
        """Put texts of these lengths (in tokens) into batches, widest first: memory runs out at once or not at all."""
        widths = self.widths(lengths)
        batches = []
        for width in np.unique(widths)[::-1]:
            texts = np.flatnonzero(widths == width)
            batches += [Batch(texts[at : at + self.rows], int(width)) for at in range(0, len(texts), self.rows)]
        return batches

    def pad(self, sequences: Sequence[Ids], batch: Batch, filler: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the sequences of a batch as a matrix and the mask of its real tokens, both of shape (rows, width).

        Every row has at least one unmasked position: a row without any would be all NaN.
        """
        matrix = np.full((self.rows, batch.width), filler, dtype=np.int64)
        mask = np.zeros((self.rows, batch.width), dtype=np.bool_)
        mask[:, 0] = True
        for row, text in enumerate(batch.texts):
            sequence = sequences[text]
            matrix[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = True
        return matrix, mask

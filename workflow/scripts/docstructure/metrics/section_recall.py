"""Section recall of two-stage retrieval (paper 6.4): whether stage 1 kept a section that holds evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docstructure.metrics.judged import JudgedRun


def section_recall(
    judged: JudgedRun,
    chunk_section: NDArray[np.int64],
    query: NDArray[np.int64],
    doc: NDArray[np.int64],
    section: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return, per query, 1 where a routed section owns a chunk that shares a character with the evidence, else 0.

    Parameters
    ----------
    judged
        The run; only its evidence and chunks are used.
    chunk_section
        Section that each chunk routes with, shape ``(n_chunks,)``.
    query, doc, section
        The routed sections, shape ``(n_routed,)``.
    """
    pairs = judged.pairs
    width = int(max(chunk_section.max(initial=0), section.max(initial=0))) + 1
    own = doc == judged.evidence.doc[query]
    routed = query[own] * width + section[own]
    hit = np.isin(pairs.query * width + chunk_section[pairs.chunk], routed)
    return (np.bincount(pairs.query[hit], minlength=judged.n_queries) > 0).astype(np.float64)

"""MaxSim: late interaction over an embedder's token vectors. A stand-in for a cross-encoder, for demo and tests.

No cross-encoder's weights come with any package, and an untrained head ranks at random. MaxSim (ColBERT's score: for
each token of the query the closest token of the passage, averaged) does rank with meaning over a bi-encoder that was
never trained for it. It shows that the reranked cells work; it says nothing about bge-reranker-v2-m3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from docstructure.embedders.encoder import Encoder
from docstructure.embedders.progress import Progress
from docstructure.reranking.pairs import Pairs, RerankerOptions, Scored

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Options(RerankerOptions):
    """What MaxSim is told; ``model`` is an embedder's, ``max_length`` the limit of a query and of a passage alone."""


def rerank(options: Options, pairs: Pairs, threads: int) -> Scored:
    """Score pairs by the mean over the query's tokens of the largest cosine to a token of the passage, in [-1, 1]."""
    import torch

    encoder = Encoder(options, threads)
    queries, _ = token_vectors(encoder, pairs.queries)
    passages, cut = token_vectors(encoder, pairs.passages)
    # One product per pair, of a shape that only the pair decides: equal texts score the same bits in any company. One
    # thread: the products are too small to share.
    torch.set_num_threads(1)
    scores = np.fromiter(
        (maxsim(queries[q], passages[p]) for q, p in zip(pairs.query_of, pairs.passage_of, strict=True)),
        dtype=np.float32,
        count=len(pairs.query_of),
    )
    return Scored(scores, cut[pairs.passage_of])


def maxsim(query: torch.Tensor, passage: torch.Tensor) -> float:
    """Return the score of two matrices of unit token vectors, (query tokens, width) and (passage tokens, width)."""
    return float((query @ passage.T).amax(dim=1).mean())


def token_vectors(encoder: Encoder, texts: Sequence[str]) -> tuple[list[torch.Tensor], NDArray[np.bool_]]:
    """Return each text's unit token vectors, (tokens, width), special tokens included, and whether its end was cut."""
    import torch

    inputs = encoder.tokenize(texts)
    lengths = inputs.lengths
    matrices: list[torch.Tensor] = [torch.empty(0)] * len(texts)
    progress = Progress(f"token vectors of {encoder.model.name}", len(texts), "texts")
    for output in encoder.run(inputs):
        unit = torch.nn.functional.normalize(output.values, dim=2).cpu()
        for row, text in enumerate(output.texts):
            matrices[text] = unit[row, : lengths[text]].clone()
        progress.advance(len(output.texts), output.done)
    return matrices, inputs.n_tokens > encoder.options.max_length

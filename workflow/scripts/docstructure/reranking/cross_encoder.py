"""Cross-encoders: one logit for query and passage read together (bge-reranker-v2-m3; paper 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docstructure.embedders.encoder import Encoder, EncoderError
from docstructure.embedders.progress import Progress
from docstructure.reranking.pairs import Pairs, RerankerOptions, Scored


@dataclass(frozen=True, kw_only=True)
class Options(RerankerOptions):
    """What a cross-encoder is told; ``max_length`` is the limit of a pair, and only its passage is cut."""


def rerank(options: Options, pairs: Pairs, threads: int) -> Scored:
    """Score pairs by the model's logit itself (a sigmoid would only squeeze, and tie what float32 then cannot tell).

    Raises
    ------
    EncoderError
        If the model is no sequence classifier with exactly one label, or its head is untrained.
    """
    encoder = Encoder(options, threads, head="logits")
    labels = len(encoder.config.get("id2label") or {0: "", 1: ""})
    if labels != 1:
        raise EncoderError(f"{encoder.model.name} has {labels} labels; a cross-encoder has one")
    # one forward pass for pairs that occur twice: corpora hold equal questions and equal passages
    codes = pairs.query_of * len(pairs.passages) + pairs.passage_of
    distinct, pair_of = np.unique(codes, return_inverse=True)
    query_of, passage_of = np.divmod(distinct, max(1, len(pairs.passages)))
    inputs = encoder.tokenize([pairs.queries[i] for i in query_of], [pairs.passages[i] for i in passage_of])
    scores = np.empty(len(distinct), dtype=np.float32)
    progress = Progress(f"reranking with {encoder.model.name}", len(distinct), "pairs")
    for output in encoder.run(inputs):
        scores[output.texts] = output.values[:, 0].cpu().numpy()
        progress.advance(len(output.texts), output.done)
    return Scored(scores[pair_of], (inputs.n_tokens > options.max_length)[pair_of])

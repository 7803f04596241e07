"""Sentence-transformers models: bge-small-en-v1.5, bge-large-en-v1.5, all-MiniLM-L6-v2 … (paper 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.embedders.encoder import Encoder, EncoderError, EncoderOptions, Output, read_json
from docstructure.models import Model

POOLING = ("cls", "mean")
MODULES = ("Transformer", "Pooling", "Normalize")
LEGACY_POOLING = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


@dataclass(frozen=True, kw_only=True)
class Options(EncoderOptions):
    """What an embedder is told, besides what every transformer is.

    Parameters
    ----------
    pooling
        How token vectors become one: ``cls`` (the first token's; bge) or ``mean`` (all-MiniLM).
    normalize
        Whether vectors are scaled to length 1, so that the inner product is the cosine.
    query_instruction
        Text put before every query (never before a chunk); the paper uses none.
    """

    pooling: str
    normalize: bool = True
    query_instruction: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling not in POOLING:
            raise ValueError(f"pooling is {self.pooling!r}; it must be one of {', '.join(POOLING)}")


@dataclass(frozen=True)
class Embedded:
    """Vectors of one batch: indices of its texts, shapes (texts,) and (texts, width), and the share of work done."""

    texts: NDArray[np.intp]
    n_tokens: NDArray[np.int32]
    vectors: NDArray[np.float32]
    done: float


class SentenceTransformerEmbedder:
    """Texts to vectors; the model is loaded when the first text is embedded."""

    def __init__(self, options: Options, threads: int) -> None:
        self.options = options
        self.encoder = Encoder(options, threads)
        check_modules(self.encoder.model, options.pooling)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.encoder.model.name

    @property
    def width(self) -> int:
        """Length of a vector."""
        return self.encoder.width

    @property
    def max_length(self) -> int:
        """Tokens of one text that the model sees, special ones included."""
        return self.options.max_length

    @property
    def query_instruction(self) -> str:
        """Text put before every query."""
        return self.options.query_instruction

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides a vector's bits, except the text."""
        return {**self.encoder.identity, "pooling": self.options.pooling, "normalize": self.options.normalize}

    def encode(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Embed texts, batch by batch, longest first."""
        inputs = self.encoder.tokenize(texts)
        for output in self.encoder.run(inputs):
            yield Embedded(output.texts, inputs.n_tokens[output.texts], self._pool(output), output.done)

    def _pool(self, output: Output) -> NDArray[np.float32]:
        import torch

        if self.options.pooling == "cls":
            pooled = output.values[:, 0]
        else:
            weights = output.mask.unsqueeze(-1).float()
            pooled = (output.values * weights).sum(dim=1) / weights.sum(dim=1)
        if self.options.normalize:
            pooled = torch.nn.functional.normalize(pooled, p=2.0, dim=1)
        vectors: NDArray[np.float32] = pooled.cpu().numpy()
        return vectors


def load(options: Options, threads: int) -> SentenceTransformerEmbedder:
    """Return the embedder of these options; torch is not imported before it embeds."""
    return SentenceTransformerEmbedder(options, threads)


def check_modules(model: Model, pooling: str) -> None:
    """Compare a sentence-transformers folder with what is computed here: transformer, pooling, normalisation.

    Raises
    ------
    EncoderError
        If the folder names another kind of module (its vectors would be other ones) or another pooling.
    """
    listing = model.folder / "modules.json"
    if not listing.is_file():
        return
    for module in read_json(listing, model):
        kind = str(module["type"]).rpartition(".")[2]
        if kind not in MODULES:
            raise EncoderError(f"model {model.name} has a module {kind}; supported are {', '.join(MODULES)}")
        if kind == "Transformer" and module["path"]:
            raise EncoderError(f"model {model.name} keeps its transformer in {module['path']}; it must be at the top")
        if kind == "Pooling":
            trained = _pooling_of(read_json(model.folder / module["path"] / "config.json", model))
            if trained != pooling:
                raise EncoderError(f"pooling is {pooling}, but model {model.name} was trained with {trained} pooling")


def _pooling_of(config: dict[str, Any]) -> str:
    if "pooling_mode" in config:
        return str(config["pooling_mode"])
    modes = [
        LEGACY_POOLING.get(key, key)
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    ]
    return "+".join(modes) or "mean"

"""A transformer over batches of fixed shape: what the embedder and the rerankers share.

The models are sentence-transformers folders, run by transformers directly: importing sentence_transformers brings
training, datasets and scikit-learn with it and costs each job about two seconds more, a third of a small view's time.
The tests hold the results to ``SentenceTransformer.encode`` and ``CrossEncoder.predict``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from docstructure.embedders import devices
from docstructure.embedders.shapes import Batch, Ids, Shapes
from docstructure.models import Model, ModelError, locate

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

DTYPES = ("float32", "bfloat16", "float16")
ATTENTION = ("sdpa", "eager")
# Position tables that begin after the padding index, so that two of their rows are never used.
OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
# Families whose every layer attends to every token, so that they may be given their attention mask ready made.
FULL_ATTENTION = OFFSET_POSITIONS | {"bert"}
# Texts tokenised at once: token ids are Python numbers until they are an array.
TEXTS_PER_CALL = 4096
CONTENT_PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors", "*/config.json")


class EncoderError(ValueError):
    """A model that cannot be run as the config says, or a text that it cannot take."""


@dataclass(frozen=True, kw_only=True)
class EncoderOptions:
    """What every transformer is told.

    Parameters
    ----------
    model
        Where its files are, as `docstructure.models.locate` takes it.
    max_length
        Tokens of one input, special ones included; the model's own default is not used.
    dtype
        Of its weights and products: float32, bfloat16 or float16. Results are float32.
    tf32
        Whether a GPU may round float32 products to TF32.
    batch_rows
        Texts per batch: more fill a GPU better and take more of its memory.
    length_step
        Texts are padded to multiples of this many tokens.
    device
        auto (the GPU where there is one), cpu or cuda.
    attention
        sdpa, or eager for models without it (all-mpnet-base-v2).
    """

    model: Mapping[str, str]
    max_length: int = 512
    dtype: str = "float32"
    tf32: bool = False
    batch_rows: int = 16
    length_step: int = 32
    device: str = "auto"
    attention: str = "sdpa"

    def __post_init__(self) -> None:
        _ = self.shapes
        for key, allowed in (("dtype", DTYPES), ("device", devices.DEVICES), ("attention", ATTENTION)):
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key} is {getattr(self, key)!r}; it must be one of {', '.join(allowed)}")

    @property
    def shapes(self) -> Shapes:
        """The shapes of its batches."""
        return Shapes(self.length_step, self.max_length, self.batch_rows)


@dataclass(frozen=True)
class Inputs:
    """Tokenised inputs.

    Parameters
    ----------
    ids
        Token ids of each, special ones included, at most ``max_length``.
    types
        Segment ids of each where the model takes them, else None.
    n_tokens
        Shape (inputs,): tokens before truncation.
    """

    ids: list[Ids]
    types: list[Ids] | None
    n_tokens: NDArray[np.int32]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Shape (inputs,): tokens that the model sees."""
        return np.fromiter((len(ids) for ids in self.ids), dtype=np.int32, count=len(self.ids))


@dataclass(frozen=True)
class Output:
    """What the model returned for one batch.

    Parameters
    ----------
    texts
        Indices of the inputs in the batch.
    values
        The model's output for these, float32, without the filler rows: hidden states (texts, width, hidden) or
        logits (texts, labels).
    mask
        Shape (texts, width): which positions are real tokens.
    done
        Share of all the work that is done with this batch.
    """

    texts: NDArray[np.intp]
    values: torch.Tensor
    mask: torch.Tensor
    done: float


class Encoder:
    """A transformer that is loaded when it is first used; what identifies it is known before.

    Parameters
    ----------
    options
        What it is told.
    threads
        CPU threads; the results do not depend on them.
    head
        ``hidden`` for token vectors, ``logits`` for a sequence classifier.

    Raises
    ------
    EncoderError
        If the model's family is not one that was checked, or is too short for ``max_length``.
    """

    def __init__(self, options: EncoderOptions, threads: int, head: str = "hidden") -> None:
        self.options = options
        self.threads = threads
        self._head = head
        self.model: Model = locate(options.model)
        self.device = devices.resolve(options.device)
        self.config = read_json(self.model.folder / "config.json", self.model)
        self._check_config()

    def _check_config(self) -> None:
        family = self.config.get("model_type", "")
        if family not in FULL_ATTENTION:
            raise EncoderError(
                f"{self.model.name} is of family {family!r}; "
                f"fixed-shape batches are checked for {', '.join(sorted(FULL_ATTENTION))}"
            )
        positions = int(self.config["max_position_embeddings"]) - 2 * (family in OFFSET_POSITIONS)
        if self.options.max_length > positions:
            raise EncoderError(f"max_length is {self.options.max_length}; {self.model.name} has {positions} positions")

    @property
    def width(self) -> int:
        """Length of a hidden state."""
        return int(self.config["hidden_size"])

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the bits of an output, except the text; known without importing torch."""
        o = self.options
        return {
            "model": self.model.identity,
            "digest": content_digest(self.model.folder),
            "max_length": o.max_length,
            "dtype": o.dtype,
            "tf32": o.tf32,
            "attention": o.attention,
            "shapes": {"length_step": o.length_step, "batch_rows": o.batch_rows},
            "device": devices.describe(self.device),
            "software": devices.software(),
        }

    def tokenize(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Inputs:
        """Tokenise texts, or pairs of them of which only the second may be cut, to at most ``max_length`` tokens.

        Raises
        ------
        EncoderError
            If the first text of a pair leaves no room for the second.
        """
        limit = self.options.max_length
        ids: list[Ids] = []
        types: list[Ids] = []
        for at in range(0, len(texts), TEXTS_PER_CALL):
            block = slice(at, at + TEXTS_PER_CALL)
            found_ids, found_types = self._tokens(texts[block], None if pairs is None else pairs[block])
            ids += found_ids
            types += found_types
        n_tokens = np.fromiter((len(row) for row in ids), dtype=np.int32, count=len(ids))
        for i in np.flatnonzero(n_tokens > limit).tolist():
            if pairs is None:
                cut_ids, cut_types = self._tokens([texts[i]], None, truncation="longest_first")
            elif len(self._tokens([texts[i]], [""])[0][0]) >= limit:
                raise EncoderError(f"max_length {limit} leaves no room for a passage beside {texts[i][:80]!r}")
            else:
                cut_ids, cut_types = self._tokens([texts[i]], [pairs[i]], truncation="only_second")
            ids[i : i + 1] = cut_ids
            types[i : i + 1] = cut_types
        return Inputs(ids, types or None, n_tokens)

    def _tokens(
        self, texts: Sequence[str], pairs: Sequence[str] | None, truncation: str | bool = False
    ) -> tuple[list[Ids], list[Ids]]:
        """Return token ids and, for pairs of a model that tells its segments apart, segment ids."""
        found = self._tokenizer(
            list(texts),
            None if pairs is None else list(pairs),
            truncation=truncation,
            max_length=self.options.max_length if truncation else None,
            padding=False,
            return_attention_mask=False,
            verbose=False,
        )
        types = found.get("token_type_ids", []) if pairs is not None else []
        return [np.asarray(row, dtype=np.int32) for row in found["input_ids"]], [
            np.asarray(row, dtype=np.int32) for row in types
        ]

    def run(self, inputs: Inputs) -> Iterator[Output]:
        """Run the model over batches of fixed shape, widest first.

        On a CPU each of the threads computes batches of its own. That is faster than to share every product among
        them, it does not stall where the cores are busy, and the bits do not depend on how many threads there are.

        Raises
        ------
        EncoderError
            If the GPU's memory does not hold a batch.
        """
        import torch

        if not inputs.ids:
            return
        network = self._network
        torch.set_float32_matmul_precision("high" if self.options.tf32 else "highest")
        plan = self.options.shapes.plan(inputs.lengths)
        work = np.cumsum([batch.width for batch in plan])
        workers = 1 if self.device == "cuda" else self.threads
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        running: deque[Future[Output]] = deque()
        try:
            for batch, done in zip(plan, work / work[-1], strict=True):
                running.append(pool.submit(self._forward, network, inputs, batch, float(done)))
                if len(running) > workers:  # one in advance for each: memory stays that of a few batches
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _forward(self, network: Callable[..., Any], inputs: Inputs, batch: Batch, done: float) -> Output:
        import torch

        try:
            with torch.inference_mode():
                values, mask = self._compute(network, inputs, batch)
        except torch.OutOfMemoryError as error:
            rows = self.options.batch_rows
            raise EncoderError(
                f"{self.model.name}: out of GPU memory at {rows} texts of {batch.width} tokens; "
                f"lower batch_rows (now {rows}). {error}"
            ) from error
        n = len(batch.texts)
        return Output(batch.texts, values[:n].float(), mask[:n], done)

    def _compute(self, network: Callable[..., Any], inputs: Inputs, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        shapes, device = self.options.shapes, self.device
        ids, real = shapes.pad(inputs.ids, batch, self._tokenizer.pad_token_id or 0)
        mask = torch.from_numpy(real).to(device)
        # Given as a bias ready made: from a plain mask transformers makes none when nothing in the batch is padded, and
        # then another attention kernel runs, so that the bits would depend on the neighbours.
        dtype = getattr(torch, self.options.dtype)
        bias = torch.zeros(mask.shape, dtype=dtype, device=device).masked_fill_(~mask, torch.finfo(dtype).min)
        arguments = {"input_ids": torch.from_numpy(ids).to(device), "attention_mask": bias[:, None, None, :]}
        if inputs.types is not None:
            types, _ = shapes.pad(inputs.types, batch, 0)
            arguments["token_type_ids"] = torch.from_numpy(types).to(device)
        output = network(**arguments)
        return (output.logits if self._head == "logits" else output.last_hidden_state), mask

    @cached_property
    def _tokenizer(self) -> PreTrainedTokenizerBase:
        from transformers import AutoTokenizer

        # The tokenizer's own threads; it reads this once.
        os.environ.setdefault("RAYON_NUM_THREADS", str(self.threads))
        return AutoTokenizer.from_pretrained(self.model.folder, local_files_only=True)

    @cached_property
    def _network(self) -> torch.nn.Module:
        # cuBLAS gives the same bits from run to run only with a fixed workspace, which it reads at its first call.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        import torch
        from transformers import AutoModel, AutoModelForSequenceClassification
        from transformers.utils.logging import disable_progress_bar

        if self.device == "cuda" and not torch.cuda.is_available():
            raise EncoderError("device is cuda, but torch finds no usable GPU: set device to cpu, or mend the driver")
        disable_progress_bar()
        auto = AutoModelForSequenceClassification if self._head == "logits" else AutoModel
        network, info = auto.from_pretrained(
            self.model.folder,
            dtype=getattr(torch, self.options.dtype),
            attn_implementation=self.options.attention,
            local_files_only=True,
            output_loading_info=True,
        )
        untrained = sorted(key for key in info["missing_keys"] if not key.startswith("pooler."))
        if untrained:
            raise EncoderError(f"{self.model.name} ({self.model.folder}) has no weights for {', '.join(untrained[:5])}")
        model: torch.nn.Module = network.to(self.device).eval()
        return model


def read_json(path: Path, model: Model) -> Any:  # noqa: ANN401
    """Read a file of a model's folder.

    Raises
    ------
    ModelError
        If it is missing or no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"model {model.name}: cannot read {path}: {error}") from error


def content_digest(folder: Path) -> str:
    """Return a digest of a model's weights, tokenizer and configuration: a revision can lie, its bytes cannot."""
    digest = hashlib.sha256()
    files = {path for pattern in CONTENT_PATTERNS for path in folder.glob(pattern) if path.is_file()}
    if not any(path.suffix == ".safetensors" for path in files):
        files |= set(folder.glob("*.bin"))
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:32]

"""transformers in this process, one request at a time, llguidance for structured answers: small models on CPU."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from docstructure.llm.engines.engine import EngineError, conversation, count_tokens, identity, model_identity
from docstructure.llm.engines.weights import gguf_file
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.models import locate

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Options:
    """A model loaded by transformers.

    Parameters
    ----------
    model
        As `docstructure.models.locate` takes it; a hub model needs a revision. A folder with one GGUF file will do.
    max_model_len
        Context in tokens, prompt and answer together; longer prompts are not sent.
    dtype
        One of `DTYPES`.
    device
        ``cpu``, ``cuda``, ``cuda:1`` ...
    chat_template_kwargs
        Given to the chat template; thinking is off by default.
    gated
        Whether the hub gives the model only to those who accepted its terms: then a token is looked for before any job
        starts.
    """

    model: Mapping[str, str]
    max_model_len: int
    dtype: str = "float32"
    device: str = "cpu"
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: {"enable_thinking": False})
    gated: bool = False

    def __post_init__(self) -> None:
        if self.max_model_len < 1:
            raise ValueError(f"transformers: max_model_len is {self.max_model_len}; it is at least 1")
        if self.dtype not in DTYPES:
            raise ValueError(f"transformers: dtype is {self.dtype!r}; it is one of {', '.join(DTYPES)}")

    @property
    def identity(self) -> str:
        """The model's part of the cache key."""
        return identity(model_identity(self.model), self, ("dtype", "chat_template_kwargs"))


def start(options: Options) -> Local:
    """Load the model.

    Raises
    ------
    EngineError
        If a package is missing.
    """
    folder = locate(options.model).folder
    try:
        import llguidance.hf
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    except ImportError as error:
        raise EngineError(
            f"engine transformers cannot be imported here: {error}. It needs torch, transformers, accelerate, gguf and "
            "llguidance: requirements-llm.txt"
        ) from error
    name = gguf_file(folder)
    kwargs: dict[str, Any] = {"gguf_file": name} if name else {}
    tokenizer = AutoTokenizer.from_pretrained(folder, **kwargs)
    if name:
        kwargs["quantization_config"] = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, options.dtype), **kwargs)
    return Local(model.to(options.device).eval(), tokenizer, llguidance.hf.from_tokenizer(tokenizer), options)


class Local:
    """A loaded model."""

    def __init__(self, model: Any, tokenizer: Any, vocabulary: Any, options: Options) -> None:  # noqa: ANN401
        self._model = model
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._options = options

    def __enter__(self) -> Local:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the model."""
        self._model = None

    def count(self, messages: Messages) -> int:
        """Return how many tokens a prompt has, chat template included."""
        return count_tokens(self._tokenizer, messages, self._options.chat_template_kwargs)

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Result]:
        """Yield one result after another, in order; a schema that cannot be kept to fails its request alone."""
        for request in requests:
            try:
                yield self._answer(request, sampling)
            except (ValueError, RuntimeError) as error:
                yield Result(request.id, "", "error", error=f"{type(error).__name__}: {error}")

    def _answer(self, request: Request, sampling: Sampling) -> Result:
        import torch

        prompt = self._tokenizer.apply_chat_template(
            conversation(request.messages),
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
            **self._options.chat_template_kwargs,
        ).to(self._options.device)
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p} if sampling.temperature else {}
        torch.manual_seed(sampling.seed)
        with torch.inference_mode():
            output = self._model.generate(
                **prompt,
                max_new_tokens=request.max_tokens,
                do_sample=bool(drawn),
                logits_processor=[] if request.schema is None else [_Guide(self._vocabulary, request.schema)],
                **drawn,
            )
        n_prompt = int(prompt["input_ids"].shape[1])
        tokens = output[0, n_prompt:].tolist()
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        if tokens and tokens[-1] in self._ends():
            return Result(request.id, text, "stop", n_prompt, len(tokens))
        return Result(request.id, text, "length", n_prompt, len(tokens), f"cut after {len(tokens)} tokens")

    def _ends(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        return {self._tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}


class _Guide:
    """Lets through the tokens that a JSON schema allows next."""

    def __init__(self, vocabulary: Any, schema: Mapping[str, Any]) -> None:  # noqa: ANN401
        import llguidance
        import llguidance.numpy

        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(dict(schema)), overrides={"whitespace_flexible": False}
        )
        self._matcher = llguidance.LLMatcher(vocabulary, grammar)
        if self._matcher.get_error():
            raise ValueError(f"llguidance does not take the schema: {self._matcher.get_error()}")
        self._bitmask = llguidance.numpy.allocate_token_bitmask(1, vocabulary.vocab_size)
        self._begun = False

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ANN401
        import llguidance.numpy
        import torch

        if self._begun and not self._matcher.consume_token(int(input_ids[0, -1])):
            raise ValueError(f"llguidance lost its place: {self._matcher.get_error()}")
        self._begun = True
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._bitmask, 0)
        # llguidance's own way to apply the mask compiles for a minute first
        bits = np.unpackbits(self._bitmask.view(np.uint8), bitorder="little")
        allowed = np.zeros(scores.shape[-1], dtype=np.bool_)
        allowed[: len(bits)] = bits[: len(allowed)]
        return scores.masked_fill(torch.from_numpy(~allowed).to(scores.device), float("-inf"))

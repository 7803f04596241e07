"""vLLM in this process (offline ``LLM``): the paper's path, one job per GPU (or per tensor-parallel group).

Data parallelism is the workflow's: each of `llm.shards` jobs starts an engine of its own (vLLM refuses
``LLM(data_parallel_size=2)`` in one process). Requests are kept in flight in a window and their results are handed
over as each finishes, so that a killed job loses little.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from docstructure.llm.engines.engine import EngineError, conversation, count_tokens, identity, model_identity
from docstructure.llm.engines.guard import no_orphans
from docstructure.llm.engines.weights import folder_of
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling

LOG = logging.getLogger(__name__)

# xgrammar keeps to integer bounds; without white space a model cannot fill its answer with it
STRUCTURED_OUTPUTS = {"backend": "xgrammar", "disable_any_whitespace": True}
# nothing is sent to vLLM's authors
ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
WINDOW_PER_SEQUENCE = 2


@dataclass(frozen=True)
class Options:
    """An offline vLLM engine.

    Parameters
    ----------
    model
        As `docstructure.models.locate` takes it; a hub model needs a revision. The token of a gated model is read from
        the environment (HF_TOKEN).
    max_model_len
        Context in tokens, prompt and answer together; longer prompts are not sent.
    dtype
        ``bfloat16``, ``float16``, ``float32`` or ``auto``.
    tensor_parallel
        GPUs of one engine.
    load_format
        ``auto``, or ``dummy`` for random weights (tests).
    gpu_memory_utilization
        Share of the GPU's memory that vLLM takes, 0..1.
    max_num_seqs
        Sequences generated at once.
    enforce_eager
        Whether to do without compiled graphs: a faster start, slower tokens.
    chat_template_kwargs
        Given to the chat template; thinking is off by default.
    gated
        Whether the hub gives the model only to those who accepted its terms: then a token is looked for before any job
        starts.
    engine_args
        Further arguments of ``vllm.LLM``, as they are.
    """

    model: Mapping[str, str]
    max_model_len: int
    dtype: str = "bfloat16"
    tensor_parallel: int = 1
    load_format: str = "auto"
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 256
    enforce_eager: bool = False
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: {"enable_thinking": False})
    gated: bool = False
    engine_args: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_model_len", "tensor_parallel", "max_num_seqs"):
            if getattr(self, name) < 1:
                raise ValueError(f"vllm: {name} is {getattr(self, name)}; it is at least 1")
        if not 0 < self.gpu_memory_utilization <= 1:
            raise ValueError(f"vllm: gpu_memory_utilization is {self.gpu_memory_utilization}; it is above 0, at most 1")
        taken = sorted(set(self.engine_args) & {*_arguments(self, ""), "data_parallel_size"})
        if taken:
            raise ValueError(f"vllm: engine_args holds {', '.join(taken)}, which is not set there")

    @property
    def identity(self) -> str:
        """The model's part of the cache key."""
        settings = ("dtype", "load_format", "chat_template_kwargs", "engine_args")
        return identity(model_identity(self.model), self, settings)


def _arguments(options: Options, folder: str) -> dict[str, Any]:
    return {
        "model": folder,
        "max_model_len": options.max_model_len,
        "dtype": options.dtype,
        "tensor_parallel_size": options.tensor_parallel,
        "load_format": options.load_format,
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "max_num_seqs": options.max_num_seqs,
        "enforce_eager": options.enforce_eager,
        "enable_prefix_caching": True,
        "structured_outputs_config": STRUCTURED_OUTPUTS,
        "disable_log_stats": False,
    }


def start(options: Options) -> Offline:
    """Load the model.

    Raises
    ------
    EngineError
        If vLLM is not installed, or does not start; its own log says more.
    """
    folder = folder_of(options.model)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    _exit_on_sigterm()
    try:
        from vllm import LLM
    except ImportError as error:
        raise EngineError(
            f"engine vllm cannot be imported here: {error}. It has an environment of its own: envs/llm.yaml on a GPU, "
            "requirements-llm.txt on CPU"
        ) from error
    with ExitStack() as stack:
        stack.enter_context(no_orphans())
        try:
            llm = LLM(**_arguments(options, str(folder)), **options.engine_args)
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineError(f"engine vllm does not start with {model_identity(options.model)}: {error}") from error
        return Offline(llm, options, stack.pop_all())


def _exit_on_sigterm() -> None:
    """Leave by an exception when terminated: Python's own way out would orphan vLLM's processes."""

    def leave(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, leave)


class Offline:
    """A running ``vllm.LLM``."""

    def __init__(self, llm: Any, options: Options, stack: ExitStack) -> None:  # noqa: ANN401 (vllm is not typed here)
        self._llm = llm
        self._stack = stack
        self._options = options
        self._tokenizer = llm.get_tokenizer()

    def __enter__(self) -> Offline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop vLLM's own processes."""
        with self._stack:
            self._llm.llm_engine.engine_core.shutdown()

    def count(self, messages: Messages) -> int:
        """Return how many tokens a prompt has, chat template included."""
        return count_tokens(self._tokenizer, messages, self._options.chat_template_kwargs)

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Result]:
        """Yield results as they finish; a request that vLLM refuses fails alone."""
        engine = self._llm.llm_engine
        window = WINDOW_PER_SEQUENCE * self._options.max_num_seqs
        waiting = iter(requests)
        running: dict[str, str] = {}
        more = True
        while more or running:
            while more and len(running) < window:
                request = next(waiting, None)
                if request is None:
                    more = False
                    break
                try:
                    running[self._send(request, sampling)] = request.id
                except (ValueError, TypeError) as error:
                    yield Result(request.id, "", "error", error=f"vLLM refuses it: {error}")
            for output in engine.step() if running else ():
                if output.finished and output.request_id in running:
                    yield _read(running.pop(output.request_id), output)

    def _send(self, request: Request, sampling: Sampling) -> str:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        schema = None if request.schema is None else StructuredOutputsParams(json=dict(request.schema))
        params = SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            max_tokens=request.max_tokens,
            structured_outputs=schema,
        )
        sent = self._llm.enqueue_chat(
            [conversation(request.messages)],
            params,
            use_tqdm=False,
            chat_template_kwargs=dict(self._options.chat_template_kwargs),
        )
        # vLLM adds a suffix to the id that it gives back, and takes it off again
        return str(sent[0]).partition("-")[0]

    def prefix_cache(self) -> tuple[int, int]:
        """Return prompt tokens found in the prefix cache, and prompt tokens looked up, by vLLM's own counters."""
        values = {metric.name: getattr(metric, "value", 0) for metric in self._llm.get_metrics()}
        return int(values.get("vllm:prefix_cache_hits", 0)), int(values.get("vllm:prefix_cache_queries", 0))

    def prefix_cache_hit_share(self) -> float:
        """Return the share of prompt tokens found in the prefix cache since the start; 0 before any request."""
        hits, queries = self.prefix_cache()
        return hits / queries if queries else 0.0


def _read(request_id: str, output: Any) -> Result:  # noqa: ANN401 (vllm is not typed here)
    answer = output.outputs[0]
    counts = (len(output.prompt_token_ids or ()), len(answer.token_ids))
    if answer.finish_reason == "stop":
        return Result(request_id, answer.text, "stop", *counts)
    if answer.finish_reason == "length":
        return Result(request_id, answer.text, "length", *counts, error=f"cut after {counts[1]} tokens")
    return Result(request_id, answer.text, "error", *counts, error=f"finish_reason is {answer.finish_reason!r}")

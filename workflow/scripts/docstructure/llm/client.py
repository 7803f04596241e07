"""One door to a model: old answers come from the cache, new ones from an engine that starts when one is missing."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from docstructure.llm.cache import CompletionCache, Entry, key_of
from docstructure.llm.engines import ENGINES
from docstructure.llm.engines.engine import Engine
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling

LOG = logging.getLogger(__name__)


class CacheMissError(RuntimeError):
    """An offline client was asked for what its cache does not hold."""


class Client:
    """Answers requests from the cache and, for what is missing there, from an engine.

    ``with Client({"vllm": {...}}, "cache/llm") as client: results = client.complete(requests)``

    Complete answers are never asked for twice. Recorded failures are asked for again, except a prompt that was too
    long and still is; an offline client returns them as they were.

    Parameters
    ----------
    definition
        Entry of ``definitions.models``: ``{engine: {options}}``.
    cache
        Folder of the cache.
    sampling
        How tokens are drawn; greedy when None.
    offline
        Whether the engine must not be started: what the cache does not hold is then an error.
    """

    def __init__(
        self,
        definition: Mapping[str, Any],
        cache: str,
        sampling: Sampling | None = None,
        *,
        offline: bool = False,
    ) -> None:
        self._options, self._start = ENGINES.resolve(definition)
        self._kind = ENGINES.kind(definition)
        self._cache = CompletionCache(cache)
        self._sampling = sampling or Sampling()
        self._offline = offline
        self._stack = ExitStack()
        self._engine: Engine | None = None

    @classmethod
    def named(
        cls,
        model: str,
        models: Mapping[str, Any] | None,
        cache: str,
        sampling: Sampling | None = None,
        *,
        offline: bool = False,
    ) -> Client:
        """Return the client of a model that the config names.

        Raises
        ------
        ValueError
            If `models` (``definitions.models``) does not define it, or no cache folder is given.
        """
        if model not in (models or {}):
            raise ValueError(
                f"model {model} is not defined: definitions.models has {', '.join(models or {}) or 'no entry'}"
            )
        if not cache:
            raise ValueError("an LLM stage needs a cache folder: set llm.cache in the config")
        return cls((models or {})[model], cache, sampling, offline=offline)

    @property
    def identity(self) -> str:
        """Engine kind, model and revision, as in the cache key; no engine is started for it."""
        return f"{self._kind}:{self._options.identity}"

    @property
    def context(self) -> int:
        """Longest prompt and answer together, in tokens; no engine is started for it."""
        return int(self._options.max_model_len)

    @property
    def engine(self) -> Engine | None:
        """The engine, for its metrics; None while nothing was missing in the cache."""
        return self._engine

    def count(self, messages: Messages) -> int:
        """Return how many tokens a prompt has. This starts the engine: rather send it and look for ``too_long``."""
        return self._started().count(messages)

    def complete(self, requests: Sequence[Request]) -> dict[str, Result]:
        """Return exactly one result per request, by id, in the order of the requests.

        Requests are sent in the given order (which serves a prefix cache), equal ones once. Each answer is stored as
        soon as it comes.

        Raises
        ------
        ValueError
            If two requests have the same id.
        EngineError
            If the engine cannot start or gives up; what came before is in the cache.
        CacheMissError
            If the client is offline and the cache does not hold every answer (nor the record that it failed).
        """
        repeated = [request_id for request_id, n in Counter(request.id for request in requests).items() if n > 1]
        if repeated:
            raise ValueError(f"request id {repeated[0]!r} is used twice")
        keys = {request.id: key_of(self.identity, request, self._sampling) for request in requests}
        answers = self._recall(requests, keys)
        missing = {keys[request.id]: request for request in reversed(requests) if keys[request.id] not in answers}
        if missing:
            if self._offline:
                raise self._miss(list(missing.values()), len(requests))
            unsent = [request for request in requests if missing.get(keys[request.id]) is request]
            for result in self._ask(unsent):
                key = keys[result.id]
                answers[key] = self._cache.write(_entry(key, self.identity, result))
        results = {request.id: answers[keys[request.id]].result(request.id) for request in requests}
        self._log(results, len(missing))
        return results

    def _miss(self, missing: Sequence[Request], n_requests: int) -> CacheMissError:
        return CacheMissError(
            f"{len(missing)} of {n_requests} answers of {self.identity} are not in the cache {self._cache.folder} "
            f"(one is request {missing[-1].id}), and no engine may be started here: run the shards of this stage "
            "again (--forcerun), or import a cache that holds them"
        )

    def _recall(self, requests: Sequence[Request], keys: Mapping[str, str]) -> dict[str, Entry]:
        """Return the stored answers that stand, by key."""
        answers = {}
        for request in requests:
            key = keys[request.id]
            entry = None if key in answers else self._cache.read(key)
            if entry is not None and (self._offline or self._stands(entry, request)):
                answers[key] = entry
        return answers

    def _stands(self, entry: Entry, request: Request) -> bool:
        if entry.finish_reason == "too_long":
            return entry.n_prompt_tokens + request.max_tokens > self.context
        return entry.finish_reason == "stop"

    def _ask(self, requests: Sequence[Request]) -> Iterator[Result]:
        """Send what fits; yield one result per request, failed where the engine gave none."""
        engine = self._started()
        open_: dict[str, Request] = {}
        for request in requests:
            n_tokens = engine.count(request.messages)
            if n_tokens + request.max_tokens > self.context:
                yield _too_long(request, n_tokens, self.context)
            else:
                open_[request.id] = request
        LOG.info("%s: %d requests sent, %d too long", self.identity, len(open_), len(requests) - len(open_))
        for result in engine.generate(list(open_.values()), self._sampling) if open_ else ():
            if open_.pop(result.id, None) is None:
                LOG.warning("%s: a second or unasked answer, for request %s, is ignored", self.identity, result.id)
            else:
                yield result
        for request_id in open_:
            yield Result(request_id, "", "error", error="the engine gave no answer")

    def _started(self) -> Engine:
        if self._offline:
            raise RuntimeError(f"{self.identity} is used offline: its engine is not started")
        if self._engine is None:
            LOG.info("%s: starting", self.identity)
            self._engine = self._stack.enter_context(self._start(self._options))
        return self._engine

    def _log(self, results: Mapping[str, Result], n_missing: int) -> None:
        reasons = Counter(result.finish_reason for result in results.values())
        LOG.info(
            "%s: %d requests, %d not in the cache: %s",
            self.identity,
            len(results),
            n_missing,
            ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "none",
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine = None
        self._stack.close()


def _too_long(request: Request, n_tokens: int, context: int) -> Result:
    error = f"a prompt of {n_tokens} and an answer of {request.max_tokens} tokens exceed the context of {context}"
    return Result(request.id, "", "too_long", n_tokens, 0, error)


def _entry(key: str, identity: str, result: Result) -> Entry:
    return Entry(
        key,
        identity,
        _valid(result.text),
        result.finish_reason,
        result.n_prompt_tokens,
        result.n_completion_tokens,
        _valid(result.error),
    )


def _valid(text: str) -> str:
    """Replace halves of surrogate pairs, which no file and no server takes."""
    return text.encode("utf-8", "replace").decode("utf-8")

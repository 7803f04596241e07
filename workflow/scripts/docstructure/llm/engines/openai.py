"""Any server that speaks OpenAI's chat completions: bounded concurrency, retries, structured answers.

Standard library only. The key is read from the environment variable that the config names; it is never logged, and
is cut out of what a server sends back.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any

from docstructure.llm.engines.engine import EngineError, conversation, count_tokens, identity
from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.models import locate

COUNTING = ("server", "tokenizer", "bytes")
RETRIED = (408, 409, 425, 429, 500, 502, 503, 504, 529)
FATAL = (401, 403, 404)
SHOWN = 300
MAX_WAIT_S = 60.0


@dataclass(frozen=True)
class Options:
    """An OpenAI-compatible server.

    Parameters
    ----------
    base_url
        Up to and with ``/v1``. No part of the cache key: where a model runs does not change what it is.
    model
        As the server calls it.
    max_model_len
        Context of the served model, in tokens; longer prompts are not sent.
    revision
        Of the served model, for the cache key; the server does not tell it.
    api_key_env
        Name of the environment variable that holds the key; none when empty.
    concurrency
        Requests in flight.
    retries
        How often a request is sent again after a failed connection or a status of `RETRIED`.
    backoff_s
        First wait before a retry, in seconds; it doubles, up to a minute. A server's Retry-After goes before it.
    timeout_s
        Longest wait for an answer, in seconds.
    chat_template_kwargs
        Sent along when not empty; thinking is off by default. Empty for servers that refuse it.
    counting
        How prompts are counted: ``server`` (its /tokenize, as vLLM and SGLang have it), ``tokenizer`` (of the option
        `tokenizer`), or ``bytes`` (a token per UTF-8 byte: never too few).
    tokenizer
        Model whose tokenizer counts, as `docstructure.models.locate` takes it.
    body
        Further fields of every request, as they are.
    """

    base_url: str
    model: str
    max_model_len: int
    revision: str = ""
    api_key_env: str = ""
    concurrency: int = 16
    retries: int = 5
    backoff_s: float = 1.0
    timeout_s: float = 600.0
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: {"enable_thinking": False})
    counting: str = "server"
    tokenizer: Mapping[str, str] | None = None
    body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"openai: base_url is {self.base_url!r}; it begins with http:// or https://")
        for name, low in (("max_model_len", 1), ("concurrency", 1), ("retries", 0)):
            if getattr(self, name) < low:
                raise ValueError(f"openai: {name} is {getattr(self, name)}; it is at least {low}")
        if self.counting not in COUNTING:
            raise ValueError(f"openai: counting is {self.counting!r}; it is one of {', '.join(COUNTING)}")
        if (self.counting == "tokenizer") != (self.tokenizer is not None):
            raise ValueError("openai: tokenizer goes with counting: tokenizer, and only with it")

    @property
    def identity(self) -> str:
        """The model's part of the cache key."""
        name = f"{self.model}@{self.revision}" if self.revision else self.model
        return identity(name, self, ("chat_template_kwargs", "body"))


def start(options: Options) -> Server:
    """Return the door to a server that is there already.

    Raises
    ------
    EngineError
        If the environment variable of the key is not set.
    """
    key = ""
    if options.api_key_env:
        key = os.environ.get(options.api_key_env, "").strip()
        if not key:
            raise EngineError(f"openai: the environment variable {options.api_key_env} (api_key_env) is not set")
    return Server(options, key)


class _Refused(Exception):  # noqa: N818 (an answer, not a fault of ours)
    """The server answered with a status that another try does not change."""


class _Unreachable(Exception):  # noqa: N818
    """No answer came, after every try."""


class Server:
    """A server that is asked over HTTP."""

    def __init__(self, options: Options, key: str) -> None:
        self._options = options
        self._key = key

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was started."""

    def count(self, messages: Messages) -> int:
        """Return how many tokens a prompt has, as `Options.counting` says.

        Raises
        ------
        EngineError
            If the server does not count.
        """
        if self._options.counting == "bytes":
            return sum(len(role.encode()) + len(content.encode()) for role, content in messages)
        if self._options.counting == "tokenizer":
            return count_tokens(self._tokenizer, messages, self._options.chat_template_kwargs)
        url = self._options.base_url.rstrip("/").removesuffix("/v1") + "/tokenize"
        asked = {"model": self._options.model, "messages": conversation(messages), "add_generation_prompt": True}
        try:
            return int(self._post(url, self._with_template(asked))["count"])
        except (_Refused, _Unreachable, KeyError, TypeError, ValueError) as error:
            raise EngineError(
                f"openai: {url} does not count tokens: {self._clean(error)}. Look whether the server runs; where it "
                "has no /tokenize, set counting: tokenizer or counting: bytes"
            ) from None

    @cached_property
    def _tokenizer(self) -> Any:  # noqa: ANN401 (a transformers tokenizer)
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(locate(self._options.tokenizer or {}).folder)

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Result]:
        """Yield results as they come; at most `Options.concurrency` requests are in flight.

        Raises
        ------
        EngineError
            If the server refuses the key or does not know the model, or is not there any more.
        """
        given_up: EngineError | None = None
        with ThreadPoolExecutor(self._options.concurrency, thread_name_prefix="openai") as pool:
            open_ = {pool.submit(self._ask, request, sampling) for request in requests}
            try:
                for future in as_completed(list(open_)):
                    open_.discard(future)
                    yield future.result()
            except EngineError as error:
                given_up = error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        if given_up is not None:
            # what was in flight has come to an end by now: it is not thrown away
            yield from (future.result() for future in open_ if not future.cancelled() and not future.exception())
            raise given_up

    def _ask(self, request: Request, sampling: Sampling) -> Result:
        url = self._options.base_url.rstrip("/") + "/chat/completions"
        try:
            return _read(request.id, self._post(url, self._body(request, sampling)))
        except _Refused as error:
            return Result(request.id, "", "error", error=self._clean(error))
        except _Unreachable as error:
            if not self._is_there():
                raise EngineError(f"openai: {url} does not answer any more: {self._clean(error)}") from None
            return Result(request.id, "", "error", error=self._clean(error))

    def _body(self, request: Request, sampling: Sampling) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._options.model,
            "messages": conversation(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        if request.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return self._with_template(body) | dict(self._options.body)

    def _with_template(self, body: dict[str, Any]) -> dict[str, Any]:
        kwargs = dict(self._options.chat_template_kwargs)
        return {**body, "chat_template_kwargs": kwargs} if kwargs else body

    def _is_there(self) -> bool:
        try:
            self._send(self._options.base_url.rstrip("/") + "/models", None)
        except urllib.error.HTTPError:
            return True
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def _post(self, url: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 (JSON)
        """Send with retries and return what comes back."""
        last: Exception | None = None
        for attempt in range(self._options.retries + 1):
            try:
                return self._send(url, body)
            except urllib.error.HTTPError as error:
                said = f"HTTP {error.code}: {error.read(SHOWN).decode('utf-8', 'replace')}"
                if error.code in FATAL:
                    raise EngineError(f"openai: {url}: {self._clean(said)}") from None
                if error.code not in RETRIED:
                    raise _Refused(said) from None
                last, wait = _Refused(said), _retry_after(error.headers.get("Retry-After"))
            except (OSError, http.client.HTTPException, ValueError) as error:
                last, wait = _Unreachable(f"{type(error).__name__}: {error}"), None
            if attempt < self._options.retries:
                time.sleep(min(MAX_WAIT_S, self._options.backoff_s * 2**attempt if wait is None else wait))
        raise last or _Unreachable("never sent")

    def _send(self, url: str, body: Mapping[str, Any] | None) -> Any:  # noqa: ANN401 (JSON)
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body).encode("ascii")
        asked = urllib.request.Request(url, data=data, headers=headers)
        with urllib.request.urlopen(asked, timeout=self._options.timeout_s) as answer:
            return json.loads(answer.read())

    def _clean(self, said: object) -> str:
        """Return a message without the key."""
        text = " ".join(str(said).split())[:SHOWN]
        return text.replace(self._key, "***") if self._key else text


def _retry_after(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _read(request_id: str, answer: Any) -> Result:  # noqa: ANN401 (JSON)
    """Return what a server's answer says."""
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content") or "", message.get("refusal")
        usage = answer.get("usage") or {}
        counts = (int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        said = json.dumps(answer)[:SHOWN]
        return Result(request_id, "", "error", error=f"the answer is no chat completion ({error!r}): {said}")
    if refusal or reason == "content_filter":
        return Result(request_id, text, "refused", *counts, error=str(refusal or "content_filter")[:SHOWN])
    if reason == "length":
        return Result(request_id, text, "length", *counts, error=f"cut after {counts[1]} tokens")
    if reason != "stop":
        return Result(request_id, text, "error", *counts, error=f"finish_reason is {reason!r}")
    return Result(request_id, text, "stop", *counts)

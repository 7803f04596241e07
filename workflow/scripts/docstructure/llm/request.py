"""What is asked of an engine, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docstructure.contracts.completions import FINISHED

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One chat request.

    Parameters
    ----------
    id
        Unique among the requests of one call; results are found by it. It is no part of the cache key.
    messages
        Pairs of role (``system``, ``user``, ``assistant``) and content, in order.
    max_tokens
        Longest answer, in the engine's tokens. An answer that reaches it is a failure.
    schema
        JSON schema that the answer keeps to; free text when None.
    """

    id: str
    messages: Messages
    max_tokens: int
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """The answer to one request.

    Parameters
    ----------
    id
        The request's.
    text
        The answer; whatever there is of it when the request failed.
    finish_reason
        ``stop``: complete. ``length``: cut at `Request.max_tokens`. ``too_long``: the prompt does not fit and was not
        sent. ``refused``: the model or its server declined. ``error``: anything else, told by `error`.
    n_prompt_tokens, n_completion_tokens
        Counts by the engine; 0 where nothing was sent or nothing came back.
    error
        What went wrong, for the reader of a table; empty when `ok`.
    """

    id: str
    text: str
    finish_reason: str
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    error: str = ""

    def __post_init__(self) -> None:
        if self.finish_reason not in FINISHED:
            raise ValueError(f"finish_reason is {self.finish_reason!r}; it is one of {', '.join(FINISHED)}")

    @property
    def ok(self) -> bool:
        """Whether the answer is complete."""
        return self.finish_reason == "stop"

    @property
    def problem(self) -> str:
        """What went wrong in one line; empty when `ok`."""
        return "" if self.ok else f"{self.finish_reason}: {self.error}".rstrip(": ")

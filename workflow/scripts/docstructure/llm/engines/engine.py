"""What an engine gives, whatever program is behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from types import TracebackType
from typing import Any, Protocol

from docstructure.llm.request import Messages, Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.models import locate


class EngineError(RuntimeError):
    """An engine cannot start or cannot go on; the message says what to install, set or look at."""


class Engine(Protocol):
    """A running language model."""

    def __enter__(self) -> Engine:
        """Return itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything that `start` started."""
        ...

    def count(self, messages: Messages) -> int:
        """Return how many tokens a prompt has, chat template included."""
        ...

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Result]:
        """Yield results as they come, in any order. A request without a result counts as failed."""
        ...


def model_identity(spec: Mapping[str, str]) -> str:
    """Return name and revision of a model for the cache key.

    A stated revision is believed, so that a cache can be read where the model is not; without one, the revision is
    that of the files on disk.

    Raises
    ------
    ValueError
        If a hub model has no revision.
    """
    name = spec.get("hub") or spec.get("package") or spec.get("folder", "").rstrip("/").rpartition("/")[2]
    if spec.get("revision"):
        return f"{name}@{spec['revision']}"
    if "hub" in spec:
        raise ValueError(f"model {name} needs a revision (a commit of the hub): what it says goes into results")
    return locate(spec).identity


def identity(name: str, options: Any, settings: Sequence[str]) -> str:  # noqa: ANN401 (any kind's Options)
    """Return an engine's part of the cache key: the model, and every setting that is not its default.

    Parameters
    ----------
    name
        The model's name and revision.
    options
        The kind's options.
    settings
        Names of the options that change answers. A new option with the old behaviour as its default keeps a cache
        valid.
    """
    changed = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if field.name in settings and getattr(options, field.name) != _default(field)
    }
    return f"{name} {json.dumps(changed, sort_keys=True)}" if changed else name


def _default(field: Any) -> Any:  # noqa: ANN401 (a dataclass field)
    return field.default if field.default_factory is MISSING else field.default_factory()


def conversation(messages: Messages) -> list[dict[str, str]]:
    """Return messages as chat templates and servers take them."""
    return [{"role": role, "content": content} for role, content in messages]


def count_tokens(tokenizer: Any, messages: Messages, chat_template_kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    """Return the tokens of a prompt by a transformers tokenizer, chat template included."""
    ids = tokenizer.apply_chat_template(
        conversation(messages), tokenize=True, add_generation_prompt=True, return_dict=False, **chat_template_kwargs
    )
    return len(ids)

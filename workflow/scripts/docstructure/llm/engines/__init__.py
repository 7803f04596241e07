"""Engines: what runs a language model; one kind per program (`vllm`, `openai`, `transformers`).

A kind's module holds a frozen dataclass ``Options`` and ``start(options)``, which returns an
`docstructure.llm.engines.engine.Engine`. Nothing is loaded before `Client` misses an answer in its cache.
"""

from __future__ import annotations

from docstructure.registry import Registry

ENGINES = Registry(
    "engine",
    "start",
    {
        "vllm": "llm.engines.vllm",
        "openai": "llm.engines.openai",
        "transformers": "llm.engines.transformers",
    },
)

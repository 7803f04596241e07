"""What is put before a chunk when it is embedded: nothing, a heading path or a context (paper 3.1, A.2)."""

from __future__ import annotations

from docstructure.registry import Registry

PREFIXES = Registry(
    "prefix",
    "render",
    {
        "none": "prefixes.none",
        "path": "prefixes.path",
        "placebo": "prefixes.placebo",
        "context": "prefixes.context",
    },
)

"""Corpora: one builder per source; each gives documents, the author's headings, queries and a funnel."""

from __future__ import annotations

from docstructure.registry import Registry

BUILDERS = Registry(
    "builder",
    "build",
    {
        "markdown": "corpora.markdown",
        "qasper": "corpora.qasper",
        "wikipedia": "corpora.wikipedia",
        "legalbench": "corpora.legalbench",
        "chroma": "corpora.chroma",
        "docling": "corpora.docling",
        "beir": "corpora.beir",
    },
)

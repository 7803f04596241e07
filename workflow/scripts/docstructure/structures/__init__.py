"""Structures: where a document's sections come from; one kind per method (paper 3.3, H).

A kind's module holds a frozen dataclass ``Options`` and ``induce(options, documents, headings, language)``, which
yields one `docstructure.structures.outcome.Outcome` per document, in order. Only a kind whose options say
`reads_headings` is given the author's headings, and one whose options say `asks_model` takes a fifth argument, ``llm``:
the models that the config defines, their cache, and whether only the cache may answer.
"""

from __future__ import annotations

from docstructure.registry import Registry

STRUCTURES = Registry(
    "structure",
    "induce",
    {
        "native": "structures.native",
        "texttiling": "structures.texttiling",
        "llm": "structures.llm",
    },
)

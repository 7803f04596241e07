"""What writes the situating context of each chunk of condition A1 (paper 3.2, A.1)."""

from __future__ import annotations

from docstructure.registry import Registry

CONTEXTUALIZERS = Registry(
    "contextualizer", "contextualize", {"lead": "contextualizers.lead", "llm": "contextualizers.llm"}
)

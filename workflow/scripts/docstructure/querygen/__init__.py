"""Where a corpus's queries come from when the builder has none: the kinds of ``definitions.corpora.X.queries``."""

from __future__ import annotations

from docstructure.registry import Registry

QUERIES = Registry("queries", "generate", {"generated": "querygen.generated"})

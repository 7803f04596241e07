"""Where documents are cut: along a structure's sections, or into windows matched to those chunks (paper 3.2)."""

from __future__ import annotations

from docstructure.registry import Registry

BOUNDARIES = Registry("boundaries", "cut", {"windows": "chunking.windows", "sections": "chunking.sections"})

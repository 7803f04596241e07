"""Embedders: what turns a text into a vector (paper 5)."""

from __future__ import annotations

from docstructure.registry import Registry

EMBEDDERS = Registry("embedder", "load", {"sentence_transformer": "embedders.sentence_transformer"})

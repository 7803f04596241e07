"""Rerankers: what scores (query, passage) pairs again, over the top of a ranking (paper 5)."""

from __future__ import annotations

from docstructure.registry import Registry

RERANKERS = Registry("reranker", "rerank", {"cross_encoder": "reranking.cross_encoder", "maxsim": "reranking.maxsim"})

"""How a cell ranks its chunks: flat over the index, or in two stages through sections (paper 3.2, contrast C4)."""

from __future__ import annotations

from docstructure.registry import Registry

RETRIEVAL = Registry(
    noun="retrieval",
    function="rank",
    modules={"flat": "retrieval.flat", "two_stage": "retrieval.two_stage"},
)

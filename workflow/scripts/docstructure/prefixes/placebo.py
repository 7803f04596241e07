"""A real heading path of another document: condition P (paper E.3)."""

from __future__ import annotations

from dataclasses import dataclass

from docstructure.placebo import Pair, assign_donors
from docstructure.prefixes.breadcrumb import Breadcrumb, Separator, cut_paths
from docstructure.prefixes.prefix import Given, Inputs


@dataclass(frozen=True)
class Options:
    """How deep a path is, and which draw.

    Parameters
    ----------
    depth
        Levels, counted from 1; the document's title is level 1.
    seed
        Seed of the permutation.
    """

    depth: int
    seed: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"prefix placebo: depth is {self.depth}; it must be at least 1 (the document's title)")
        if self.seed < 0:
            raise ValueError(f"prefix placebo: seed is {self.seed}; it must not be negative")


def render(options: Options, inputs: Inputs) -> list[Given]:
    """Give every chunk the heading path that its (document, cut path) pair was dealt."""
    separator = Separator(inputs.separator)
    paths = cut_paths(inputs.documents, inputs.chunks, options.depth, separator)
    pairs = [Pair(doc_id, path) for doc_id, path in zip(inputs.chunks["doc_id"], paths, strict=True)]
    donors = assign_donors(pairs, options.seed)
    return [Given(Breadcrumb(donors[pair].path, separator), donors[pair].doc_id) for pair in pairs]

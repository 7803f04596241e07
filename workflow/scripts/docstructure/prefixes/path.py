"""The chunk's own heading path: conditions A3, A3-d1, A3-d2, G3 (paper A.2)."""

from __future__ import annotations

from dataclasses import dataclass

from docstructure.prefixes.breadcrumb import Breadcrumb, Separator, cut_paths
from docstructure.prefixes.prefix import Given, Inputs


@dataclass(frozen=True)
class Options:
    """How deep a path is.

    Parameters
    ----------
    depth
        Levels, counted from 1; the document's title is level 1.
    """

    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"prefix path: depth is {self.depth}; it must be at least 1 (the document's title)")


def render(options: Options, inputs: Inputs) -> list[Given]:
    """Give every chunk its own heading path, cut to the depth."""
    separator = Separator(inputs.separator)
    return [
        Given(Breadcrumb(path, separator))
        for path in cut_paths(inputs.documents, inputs.chunks, options.depth, separator)
    ]

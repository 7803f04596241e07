"""The config: what statistics would find out only after the whole grid ran.

Standard library only: `docstructure.config` imports it, and the Snakefile that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from docstructure.grid import Grid, plain

Config = Mapping[str, Any]

NUMERICS = ("dtype", "tf32", "batch_rows", "length_step", "device", "attention")
"""Options of an embedder that change rounding and nothing else."""

EMBEDDER_DEFAULTS = {"max_length": 512, "normalize": True, "query_instruction": ""}
"""Defaults of its other options, so that a default that is written out is no difference."""

RERANKED = 50
"""Default of a reranker's `top`."""


def cutoff_problems(config: Config) -> Iterator[str]:
    """Yield metrics and rerankers that want more ranks than a ranking has: they would be numbers of other cut-offs."""
    top_k = config["top_k"]
    allowed = f"allowed: at most top_k, which is {top_k}"
    for index, metric in enumerate(config["metrics"]):
        depth = metric.partition("@")[2]
        if depth.isdigit() and int(depth) > top_k:
            yield f"metrics.{index}: {metric!r} is of {depth} ranks; {allowed}"
    for name in config["rerankers"]:
        for kind, options in config["definitions"]["rerankers"][name].items():
            if kind not in ("none", "embedders", "conditions") and (top := options.get("top", RERANKED)) > top_k:
                by_default = "" if "top" in options else " by default"
                yield f"definitions.rerankers.{name}.{kind}.top: is {top}{by_default}; {allowed}"


def statistics_problems(config: Config) -> Iterator[str]:
    """Yield what no statistic can be of."""
    yield from _contrasts(config)
    yield from _registered_cell(config)
    for name, steps in config["exploration"]["ladders"].items():
        yield from _ladder(Grid(config), f"exploration.ladders.{name}", steps)
    yield from _power(config["exploration"]["power"])
    yield from _noise(config)


def _contrasts(config: Config) -> Iterator[str]:
    for name, sides in config["definitions"]["contrasts"].items():
        if sides[0] == sides[1]:
            yield f"definitions.contrasts.{name}: is {_listed(sides)}; allowed: two different conditions"


def _registered_cell(config: Config) -> Iterator[str]:
    cell, grid = config["preregistration"]["cell"], Grid(config)
    found = [(cell.embedder, cell.reranker) for corpus in config["corpora"] for cell in grid.cells(corpus)]
    if (cell["embedder"], cell["reranker"]) not in found:
        allowed = ", ".join(f"{embedder} with {reranker}" for embedder, reranker in dict.fromkeys(found)) or "none"
        yield (
            f"preregistration.cell: embedder {cell['embedder']!r} with reranker {cell['reranker']!r} is in no corpus's "
            f"grid; allowed: {allowed}"
        )


def _ladder(grid: Grid, key: str, steps: Sequence[str]) -> Iterator[str]:
    if len(set(steps)) < len(steps):
        yield f"{key}: is {_listed(steps)}; allowed: each condition once"
        return
    for axis in ("boundaries", "retrieval"):
        values = [grid.definitions["conditions"][step][axis] for step in steps]
        if len(set(values)) > 1:
            yield f"{key}: is {_listed(steps)}, of {axis} {_listed(values)}; allowed: conditions of the same {axis}"
    depths = [grid.depth(step) for step in steps]
    known = [depth for depth in depths if depth is not None]
    if len(known) < len(depths) or known != sorted(known) or known[0] == known[-1]:
        shown = _listed(["no path" if depth is None else depth for depth in depths])
        yield f"{key}: is {_listed(steps)}, of depths {shown}; allowed: heading paths that get deeper"
    # Placebos of several draws, or placebos beside true paths, differ in more than depth.
    prefixes = [grid.definitions["prefixes"][grid.definitions["conditions"][step]["prefix"]] for step in steps]
    drawn = {(kind, prefix[kind].get("seed")) for prefix in prefixes for kind in prefix if kind != "none"}
    if len(drawn) > 1:
        yield f"{key}: is {_listed(steps)}; allowed: paths alone, or placebos of one seed alone"


def _power(power: Config) -> Iterator[str]:
    # YAML has .nan and .inf: no bound of the schema stops them.
    for key in ("effects", "alpha", "target_power"):
        values = power[key] if key == "effects" else [power[key]]
        for value in values:
            if not math.isfinite(value):
                yield f"exploration.power.{key}: is {value}; allowed: finite numbers"


def _noise(config: Config) -> Iterator[str]:
    seen: set[frozenset[str]] = set()
    for index, pair in enumerate(config["exploration"]["noise"]):
        key = f"exploration.noise.{index}"
        missing = [name for name in pair if name not in config["embedders"]]
        for name in missing:
            yield f"{key}: {name!r} is not run; allowed: {', '.join(config['embedders'])}, the embedders"
        if pair[0] == pair[1]:
            yield f"{key}: is {_listed(pair)}; allowed: two different embedders"
        elif frozenset(pair) in seen:
            yield f"{key}: is {_listed(pair)}; allowed: each pair once"
        elif different := _different(config["definitions"]["embedders"], pair):
            yield (
                f"{key}: {pair[0]!r} and {pair[1]!r} differ in {', '.join(different)}; allowed: a difference in "
                f"{', '.join(NUMERICS)} only"
            )
        elif not missing and not _shared(config, pair):
            yield f"{key}: no reranker runs on both of {_listed(pair)}; allowed: embedders with cells in common"
        seen.add(frozenset(pair))


def _different(embedders: Config, pair: Sequence[str]) -> list[str]:
    """Return the options that differ between two embedders and are not numerics, each with both values."""
    (kind, here), (other, there) = (next(iter(embedders[name].items())) for name in pair)
    if kind != other:
        return [f"kind ({kind}, {other})"]
    sides = [EMBEDDER_DEFAULTS | plain(options) for options in (here, there)]
    keys = sorted(set().union(*sides) - set(NUMERICS))
    values = {key: [side.get(key) for side in sides] for key in keys}
    return [f"{key} ({found[0]!r}, {found[1]!r})" for key, found in values.items() if found[0] != found[1]]


def _shared(config: Config, pair: Sequence[str]) -> bool:
    """Return whether two embedders have a cell of the same corpus, condition and reranker."""
    grid = Grid(config)
    return any(
        set(grid.rerankers(condition, pair[0])) & set(grid.rerankers(condition, pair[1]))
        for corpus in config["corpora"]
        for condition in grid.conditions(corpus)
    )


def _listed(values: Sequence[object]) -> str:
    return f"[{', '.join(map(str, values))}]"

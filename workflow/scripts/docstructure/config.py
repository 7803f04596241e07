"""The config: what the JSON schema cannot say about it, and messages that name key, value and allowed values.

Standard library only (jsonschema comes with Snakemake and is imported where it is used): the Snakefile imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from docstructure.config_statistics import cutoff_problems, statistics_problems
from docstructure.grid import Grid

Config = Mapping[str, Any]

SELECTED = ("corpora", "conditions", "embedders", "rerankers")
RESERVED = ("queries", "report")


class ConfigError(ValueError):
    """The config cannot be run; the message lists every problem."""


def check(config: Config, schema: Config) -> None:
    """Check the config against its schema and against itself.

    Raises
    ------
    ConfigError
        With one line per problem: the key, its value, what is allowed.
    """
    # What follows needs names that are defined, so that problems come in three rounds.
    problems = list(schema_problems(config, schema)) or list(reference_problems(config)) or list(_later(config))
    if problems:
        raise ConfigError(f"the config has {len(problems)} problem(s):\n" + "\n".join(f"- {line}" for line in problems))


def _later(config: Config) -> Iterator[str]:
    yield from eligibility_problems(config)
    yield from cutoff_problems(config)
    yield from statistics_problems(config)


def schema_problems(config: Config, schema: Config) -> Iterator[str]:
    """Yield what the schema finds, one line each."""
    from jsonschema import Draft202012Validator

    # Snakemake hands over ordered mappings; a round trip makes them plain.
    plain = json.loads(json.dumps(config))
    errors = Draft202012Validator(schema).iter_errors(plain)
    for error in sorted(errors, key=lambda error: [str(part) for part in error.absolute_path]):
        key = ".".join(str(part) for part in error.absolute_path) or "(top level)"
        yield f"{key}: {_says(error)}"


def _says(error: Any) -> str:  # noqa: ANN401 (jsonschema is untyped)
    value = json.dumps(error.instance, ensure_ascii=False)
    value = value if len(value) <= 80 else value[:80] + "…"
    rule, limit = error.validator, error.validator_value
    if rule == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))
        return f"unknown key {', '.join(unknown)}; allowed: {', '.join(known) or 'none'}"
    if rule == "required":
        missing = [key for key in limit if key not in error.instance]
        return f"key {', '.join(missing)} is missing"
    if rule in ("maxProperties", "minProperties"):
        kinds = sorted(error.schema.get("properties", {}))
        named = ", ".join(error.instance) or "none"
        return f"names {len(error.instance)} kinds ({named}); allowed: one of {', '.join(kinds)}"
    if rule == "oneOf":
        return f"is {value}; allowed: {error.schema.get('description', '')}"
    if rule == "enum":
        return f"is {value}; allowed: {', '.join(map(str, limit))}"
    allowed = error.schema.get("description", "") if rule == "pattern" else f"{rule} {limit}"
    return f"is {value}; allowed: {allowed}"


def reference_problems(config: Config) -> Iterator[str]:
    """Yield names that are used but not defined, and combinations that cannot be."""
    definitions = config["definitions"]
    for axis in SELECTED:
        yield from _undefined(axis, config[axis], definitions[axis])
    yield from _undefined("tokenizer", [config["tokenizer"]], definitions["tokenizers"])
    yield from _names(definitions)
    yield from _corpora(definitions)
    yield from _models(definitions)
    yield from _boundaries(definitions)
    yield from _prefixes(definitions)
    yield from _conditions(definitions)
    for name, pair in definitions["contrasts"].items():
        yield from _undefined(f"definitions.contrasts.{name}", pair, definitions["conditions"])
    for name, reranker in definitions["rerankers"].items():
        for axis in ("embedders", "conditions"):
            key = f"definitions.rerankers.{name}.{axis}"
            yield from _undefined(key, reranker.get(axis, []), definitions[axis])
    yield from _preregistration(config)
    chunking = config["chunking"]
    if 2 * chunking["t_min"] > chunking["t_max"]:
        yield (
            f"chunking.t_min: is {chunking['t_min']}; allowed: at most half of chunking.t_max ({chunking['t_max']}), "
            "so that a merge above t_max can be split into two chunks that are long enough"
        )


def _undefined(key: str, names: Sequence[str], defined: Mapping[str, Any]) -> Iterator[str]:
    for name in names:
        if name not in defined:
            yield f"{key}: {name!r} is not defined; allowed: {', '.join(defined) or 'none'}"


def _names(definitions: Config) -> Iterator[str]:
    for noun, entries in definitions.items():
        for name in entries:
            if name in RESERVED:
                yield f"definitions.{noun}.{name}: the name is reserved"
    for noun in ("boundaries", "prefixes"):
        for name in definitions[noun]:
            if "." in name:
                yield f"definitions.{noun}.{name}: the name has a dot, which separates both in file names"


def _corpora(definitions: Config) -> Iterator[str]:
    for name, corpus in definitions["corpora"].items():
        key = f"definitions.corpora.{name}"
        yield from _undefined(f"{key}.structures", corpus["structures"], definitions["structures"])
        declared = dict.fromkeys(corpus["structures"])
        yield from _undefined(f"{key}.eligibility.structures", corpus["eligibility"]["structures"], declared)
        contexts = dict.fromkeys(
            f"{boundaries}.{contextualizer}"
            for boundaries in definitions["boundaries"]
            for contextualizer in definitions["contextualizers"]
        )
        yield from _undefined(f"{key}.eligibility.contexts", corpus["eligibility"].get("contexts", []), contexts)
        if "generated" in corpus["queries"]:
            options = corpus["queries"]["generated"]
            yield from _undefined(f"{key}.queries.generated.model", [options["model"]], definitions["models"])
            structure = options.get("structure", "gold")
            yield from _undefined(f"{key}.queries.generated.structure", [structure], declared)


def _models(definitions: Config) -> Iterator[str]:
    for noun in ("structures", "contextualizers"):
        for name, entry in definitions[noun].items():
            if "llm" in entry:
                key = f"definitions.{noun}.{name}.llm.model"
                yield from _undefined(key, [entry["llm"]["model"]], definitions["models"])


def _boundaries(definitions: Config) -> Iterator[str]:
    for name, entry in definitions["boundaries"].items():
        key = f"definitions.boundaries.{name}"
        if "sections" in entry:
            yield from _undefined(
                f"{key}.sections.structure", [entry["sections"]["structure"]], definitions["structures"]
            )
        else:
            by_sections = {other: None for other, found in definitions["boundaries"].items() if "sections" in found}
            yield from _undefined(f"{key}.windows.match", [entry["windows"]["match"]], by_sections)


def _prefixes(definitions: Config) -> Iterator[str]:
    for name, entry in definitions["prefixes"].items():
        if "context" in entry:
            key = f"definitions.prefixes.{name}.context.contextualizer"
            yield from _undefined(key, [entry["context"]["contextualizer"]], definitions["contextualizers"])


def _conditions(definitions: Config) -> Iterator[str]:
    for name, condition in definitions["conditions"].items():
        key = f"definitions.conditions.{name}"
        missing = list(_undefined(f"{key}.boundaries", [condition["boundaries"]], definitions["boundaries"]))
        missing += _undefined(f"{key}.prefix", [condition["prefix"]], definitions["prefixes"])
        missing += _undefined(f"{key}.retrieval", [condition["retrieval"]], definitions["retrieval"])
        yield from missing
        if missing or "windows" not in definitions["boundaries"][condition["boundaries"]]:
            continue
        prefix = definitions["prefixes"][condition["prefix"]]
        if "path" in prefix or "placebo" in prefix:
            yield (
                f"{key}.prefix: {condition['prefix']!r} is a heading path, but {condition['boundaries']!r} are "
                "windows, which have none; allowed: a prefix of kind none or context, or boundaries of kind sections"
            )
        if "two_stage" in definitions["retrieval"][condition["retrieval"]]:
            yield (
                f"{key}.retrieval: {condition['retrieval']!r} routes to sections, but {condition['boundaries']!r} are "
                "windows, which have none; allowed: retrieval of kind flat, or boundaries of kind sections"
            )


def _preregistration(config: Config) -> Iterator[str]:
    definitions, registered = config["definitions"], config["preregistration"]
    cell = registered["cell"]
    yield from _undefined("preregistration.contrasts", registered["contrasts"], definitions["contrasts"])
    yield from _undefined("exploratory_contrasts", config["exploratory_contrasts"], definitions["contrasts"])
    yield from _undefined("preregistration.cell.embedder", [cell["embedder"]], definitions["embedders"])
    yield from _undefined("preregistration.cell.reranker", [cell["reranker"]], definitions["rerankers"])
    for name, ladder in config["exploration"]["ladders"].items():
        yield from _undefined(f"exploration.ladders.{name}", ladder, definitions["conditions"])
    for index, pair in enumerate(config["exploration"]["noise"]):
        yield from _undefined(f"exploration.noise.{index}", pair, definitions["embedders"])
    if cell["metric"] not in config["metrics"]:
        computed = ", ".join(config["metrics"])
        yield f"preregistration.cell.metric: {cell['metric']!r} is not computed; allowed: {computed}"
    for name in config["exploratory_contrasts"]:
        if name in registered["contrasts"]:
            yield f"exploratory_contrasts: {name!r} is pre-registered; allowed: other contrasts"


def eligibility_problems(config: Config) -> Iterator[str]:
    """Yield what a language model makes for a condition and eligibility does not ask for.

    A document that the model fails on must leave every index; otherwise its conditions stop after all answers are paid.
    """
    grid = Grid(config)
    for corpus in config["corpora"]:
        asked = config["definitions"]["corpora"][corpus]["eligibility"]
        for condition in grid.conditions(corpus):
            for noun, name in _asked_of_models(grid, condition):
                if name not in asked.get(noun, []):
                    yield (
                        f"definitions.corpora.{corpus}.eligibility.{noun}: lacks {name!r}, which a language model "
                        f"makes for condition {condition}; add it, so that a document it fails on leaves every index"
                    )


def _asked_of_models(grid: Grid, condition: str) -> Iterator[tuple[str, str]]:
    """Yield noun and name of the structure and the contexts that a condition has from a language model."""
    definitions, boundaries = grid.definitions, grid.boundaries(condition)
    structure = grid.structure(boundaries)
    if "llm" in definitions["structures"][structure]:
        yield "structures", structure
    prefix = definitions["prefixes"][definitions["conditions"][condition]["prefix"]]
    if "context" in prefix:
        contextualizer = prefix["context"]["contextualizer"]
        if "llm" in definitions["contextualizers"][contextualizer]:
            yield "contexts", f"{boundaries}.{contextualizer}"

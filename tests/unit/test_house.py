"""The house of the library: who may import whom (design: floors), held by walking the imports."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts" / "docstructure"

# A package or module imports only from floors below its own, and from itself.
FLOORS = [
    {"spans", "registry", "contracts", "fingerprint", "joblog", "grid"},
    {"config_statistics"},
    {"config", "models", "sentences", "tree", "words"},
    {"tokens", "llm"},
    {"placebo", "corpora", "structures", "chunking", "contextualizers", "eligibility", "routing_sections"},
    {"prefixes", "querygen", "prefetch"},
    {"embedders", "vector_store", "search"},
    {"embedding", "retrieval"},
    {"reranking", "metrics"},
    {"scoring", "bm25"},
    {"provenance", "statistics", "exports"},
    {"preregistration", "cell", "audit", "diagnostics", "nonlexicality"},
    {"replication"},
    {"report"},
]
# Within one floor, these may be imported by their neighbours.
NEIGHBOURS: set[tuple[str, str]] = set()
FLOOR = {name: level for level, names in enumerate(FLOORS) for name in names}


def modules():
    return sorted(path for path in LIBRARY.rglob("*.py") if path != LIBRARY / "__init__.py")


def top(path: Path) -> str:
    return path.relative_to(LIBRARY).with_suffix("").parts[0]


@cache
def imported(path: Path) -> frozenset[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            if node.module == "docstructure":
                names.update(f"docstructure.{alias.name}" for alias in node.names)
    return frozenset(names)


def library_imports(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path) if name.startswith("docstructure.")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_module_imports_from_floors_below(path):
    own = top(path)
    assert own in FLOOR, f"{own} has no floor: add it to FLOORS where it belongs"
    for other in library_imports(path) - {own}:
        assert FLOOR[other] < FLOOR[own] or (own, other) in NEIGHBOURS, f"{own} must not import {other}"


def test_scores_never_see_a_treatment():
    for path in modules():
        if top(path) in {"metrics", "scoring"}:
            assert not library_imports(path) & {
                "prefixes",
                "placebo",
                "embedding",
                "embedders",
                "contextualizers",
                "llm",
            }


def test_chunkers_do_not_know_where_documents_came_from():
    for path in modules():
        if top(path) == "chunking":
            assert "corpora" not in library_imports(path)


def test_library_never_sees_snakemake():
    for path in modules():
        assert not any(name.split(".")[0] == "snakemake" for name in imported(path)), path


def test_what_the_snakefile_imports_is_standard_library_only():
    # registries are imported by the Snakefile too: they must stay as light
    heavy = {"polars", "numpy", "torch", "scipy", "yaml", "tokenizers", "numba", "transformers"}
    light = [LIBRARY / f"{name}.py" for name in ("config", "config_statistics", "grid", "fingerprint", "registry")]
    common = (LIBRARY.parents[2] / "rules" / "common.smk").read_text(encoding="utf-8")
    registries = re.findall(r"^from docstructure\.([a-z_.]+) import [A-Z]+$", common, re.MULTILINE)
    light += [LIBRARY.joinpath(*name.split("."), "__init__.py") for name in registries]
    assert len(registries) >= 7
    for path in light:
        assert not {name.split(".")[0] for name in imported(path)} & heavy, path


def test_no_import_circles():
    graph = {path: set() for path in modules()}
    for path in modules():
        for name in imported(path):
            if name.startswith("docstructure."):
                base = LIBRARY.joinpath(*name.split(".")[1:])
                graph[path] |= {found for found in (base.with_suffix(".py"), base / "__init__.py") if found in graph}
    done: set[Path] = set()

    def walk(path, trail):
        assert path not in trail, " -> ".join(str(step.relative_to(LIBRARY)) for step in (*trail, path))
        if path not in done:
            for other in graph[path]:
                walk(other, (*trail, path))
            done.add(path)

    for path in graph:
        walk(path, ())


def test_scripts_are_one_call():
    scripts = sorted(LIBRARY.parent.glob("*.py"))
    assert len(scripts) >= 15
    for script in scripts:
        tree = ast.parse(script.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), script
        main = tree.body[-1]
        assert isinstance(main, ast.If), script
        assert len(main.body) == 1, script
        assert isinstance(main.body[0].value, ast.Call), script
        assert all(isinstance(node, ast.Expr | ast.ImportFrom) for node in tree.body[:-1]), script

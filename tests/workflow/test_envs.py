"""Environments: pins that agree and resolve, and hold what the scripts of their rules import, and nothing else."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from docstructure.fingerprint import SCRIPTS, closure
from docstructure.registry import Registry
from tests.rules import ROOT, Rule, rules

ENVS = {file.stem: file for file in sorted((ROOT / "envs").glob("*.yaml"))}
# Import name to distribution, where they differ.
DISTRIBUTIONS = {
    "faiss": "faiss-gpu",
    "markdown_it": "markdown-it-py",
    "mdit_py_plugins": "mdit-py-plugins",
    "yaml": "pyyaml",
}
# Pinned although nothing imports them by name: what must not move under those who do.
UNIMPORTED = {
    "embed": {"tokenizers": "its version is part of every vector's key"},
    "rerank": {"tokenizers": "as in embed"},
    "llm": {"accelerate": "transformers loads GGUF weights with it", "gguf": "likewise"},
}
# vLLM decides these in its own environment.
OF_VLLM = {"accelerate", "gguf", "llguidance", "numpy", "torch", "transformers"}
# Names in requirements.txt that stand for another in an environment: a machine without a GPU searches with faiss-cpu.
LOCALLY = {"faiss-gpu": "faiss-cpu"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lines: list[str]) -> dict[str, str]:
    found = {}
    for line in lines:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!-]+)", line.split(" #")[0].split(" ;")[0].strip())
        if match:
            found[normal(match[1])] = match[2]
    return found


@cache
def declared(env: str) -> dict[str, str]:
    content = yaml.safe_load(ENVS[env].read_text())
    assert content["channels"] == ["conda-forge"]
    *conda, pip = content["dependencies"]
    assert conda == ["python=3.12", "pip"], env
    found = pins(pip["pip"])
    assert len(found) == len(pip["pip"]), f"envs/{env}.yaml: every requirement is NAME==VERSION"
    assert list(found) == sorted(found), f"envs/{env}.yaml: sorted"
    return found


def locked(env: str) -> dict[str, str]:
    return pins((ROOT / "envs" / f"{env}.lock.txt").read_text().splitlines())


def local() -> dict[str, str]:
    return pins((ROOT / "requirements.txt").read_text().splitlines())


@cache
def registries() -> dict[str, Registry]:
    """Return every registry of the library by the name that the rules use."""
    found = {}
    for file in SCRIPTS.glob("docstructure/**/__init__.py"):
        if "Registry(" in file.read_text(encoding="utf-8"):
            module = importlib.import_module(".".join(file.parent.relative_to(SCRIPTS).parts))
            found |= {name: value for name, value in vars(module).items() if isinstance(value, Registry)}
    return found


def files_of(rule: Rule) -> set[Path]:
    """Return the files that a rule may import: its script's closure and that of every kind that it may resolve."""
    modules: list[str] = []
    for name in rule.registries:
        registry = registries()[name]
        modules += [registry.module(kind) for kind in registry.modules]
    return set(closure(rule.script, *modules))


def third_party(file: Path) -> set[str]:
    """Return what a file imports that is neither ours nor of the standard library, except for type checkers."""
    found: set[str] = set()

    def walk(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found.update(name.split(".")[0] for name in names)
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(ast.parse(file.read_text(encoding="utf-8")))
    return found - sys.stdlib_module_names - {"docstructure"}


def needed(rule: Rule) -> set[str]:
    imports = set().union(*map(third_party, files_of(rule)))
    return {normal(DISTRIBUTIONS.get(name, name)) for name in imports}


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_each_rule_finds_its_imports_in_its_environment(rule):
    missing = needed(rule) - set(declared(rule.env))
    assert not missing, f"rule {rule.name} runs in envs/{rule.env}.yaml, which lacks {', '.join(sorted(missing))}"


@pytest.mark.parametrize("env", ENVS)
def test_nothing_is_declared_that_no_rule_needs(env):
    used = [rule for rule in rules().values() if rule.env == env]
    assert used, f"no rule uses envs/{env}.yaml"
    wanted = set().union(*map(needed, used)) | set(UNIMPORTED.get(env, {}))
    assert set(declared(env)) <= wanted, sorted(set(declared(env)) - wanted)


@pytest.mark.parametrize("env", ENVS)
def test_pins_are_those_of_the_local_environment(env):
    theirs, ours = declared(env), local()
    for name, version in theirs.items():
        if env == "llm" and name in OF_VLLM | {"vllm"}:
            continue
        assert ours[LOCALLY.get(name, name)] == version, f"{name} in envs/{env}.yaml and requirements.txt"


@pytest.mark.parametrize("env", ENVS)
def test_lock_is_a_resolution_of_the_pins(env):
    lock = locked(env)
    assert {name: lock.get(name) for name in declared(env)} == declared(env), "run envs/lock.sh"


def test_locks_agree_on_what_decides_results():
    """Libraries that compute are of one version wherever they are installed, except beside vLLM."""
    versions: dict[str, dict[str, str]] = {}
    for env in set(ENVS) - {"llm"}:
        for name in ("numpy", "polars", "scipy", "tokenizers", "torch", "transformers", "safetensors", "pyarrow"):
            if name in locked(env):
                versions.setdefault(name, {})[env] = locked(env)[name]
    for name, by_env in versions.items():
        assert len(set(by_env.values())) == 1, (name, by_env)


@pytest.mark.skipif("CHECK_ENVS" not in os.environ, reason="asks a package index: set CHECK_ENVS to run it")
def test_locks_are_what_resolves_today():
    """Against the package index; versions that are locked are kept as long as they fit."""
    uv = str(Path(sys.executable).parent / "uv")
    done = subprocess.run(
        ("envs/lock.sh", "--check"), cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"UV": uv}
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Small ones, without torch: what a job imports is in its environment, seen in one that holds nothing else.
@pytest.mark.skipif("CHECK_ENVS" not in os.environ, reason="asks a package index: set CHECK_ENVS to run it")
@pytest.mark.parametrize("env", ["report", "corpus", "stats"])
def test_scripts_import_in_a_clean_environment(env, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run((sys.executable, "-m", "venv", venv), check=True)
    python = venv / "bin" / "python"
    wanted = [f"{name}=={version}" for name, version in declared(env).items()]
    subprocess.run((python, "-m", "pip", "install", "--quiet", *wanted), check=True)
    modules = set()
    for rule in rules().values():
        if rule.env == env:
            for file in files_of(rule):
                if file.parent != SCRIPTS:
                    modules.add(".".join(file.relative_to(SCRIPTS).with_suffix("").parts).removesuffix(".__init__"))
    imports = sorted(modules) + sorted(
        {name for rule in rules().values() if rule.env == env for file in files_of(rule) for name in third_party(file)}
    )
    code = (
        f"import importlib, sys; sys.path.append({str(SCRIPTS)!r}); [importlib.import_module(m) for m in {imports!r}]"
    )
    done = subprocess.run((python, "-I", "-c", code), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

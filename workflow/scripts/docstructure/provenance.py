"""provenance.json: what made a cell, so that its numbers can be traced and made again."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docstructure.fingerprint import SCRIPTS, digests
from docstructure.llm.template_files import versions
from docstructure.models import ModelError, locate

PACKAGES = (
    "snakemake",
    "polars",
    "numpy",
    "numba",
    "scipy",
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "sentencex",
    "faiss-cpu",
    "faiss-gpu",
    "vllm",
)

ASKS_MODEL = ("llm", "generated")
"""Kinds of definition that a language model answers."""


def write_provenance(made_of: Mapping[str, Any], path: str) -> None:
    """Write a cell's definitions and settings with commit, code, packages, model revisions and prompts.

    Packages are those of the job that scores. Where every kind of job has an environment of its own, the others' are
    what ``envs/`` pins at the commit, and what they compute is keyed by their versions.

    Parameters
    ----------
    made_of
        Definitions and settings of the cell, by `docstructure.grid.Grid.provenance`.
    path
        JSON file to write, atomically.
    """
    record = {
        **made_of,
        "commit": commit(),
        "code": digests(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "models": dict(sorted(model_revisions(made_of))),
        "prompts": versions() if asks_model(made_of.get("definitions")) else {},
    }
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    partial.write_text(json.dumps(record, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(target)


def asks_model(definitions: Any) -> bool:  # noqa: ANN401 (any definition)
    """Return whether anything that a cell is made of was asked of a language model."""
    if not isinstance(definitions, Mapping):
        return False
    return any(key in ASKS_MODEL or asks_model(entry) for key, entry in definitions.items())


def commit() -> dict[str, Any] | None:
    """Return the commit of the checkout and whether it has uncommitted changes; None outside a git checkout."""
    try:
        head = _git("rev-parse", "HEAD")
        return {"id": head, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(("git", "-C", str(SCRIPTS), *arguments), check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def model_revisions(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 (any definition)
    """Yield name and revision of every model that a definition names.

    A model that this environment cannot see is recorded with the revision that the config asks for.
    """
    if not isinstance(value, Mapping):
        return
    for key, entry in value.items():
        if key in ("model", "tokenizer") and isinstance(entry, Mapping):
            yield _model_revision(entry)
        else:
            yield from model_revisions(entry)


def _model_revision(spec: Mapping[str, str]) -> tuple[str, str]:
    if "hub" in spec:
        return spec["hub"], spec.get("revision", "not pinned")
    try:
        model = locate(spec)
    except ModelError:
        return next(iter(spec.values())), "not in this environment"
    return model.name, model.revision

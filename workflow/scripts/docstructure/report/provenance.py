"""What made the cells of a report: commits, packages, models, and the command that makes each cell again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CellRecord:
    """One cell, what made it, and the command that makes it again."""

    corpus: str
    condition: str
    embedder: str
    reranker: str
    command: str
    made_of: Mapping[str, Any]

    @property
    def definitions(self) -> Mapping[str, Any]:
        """Its definitions, each ``{kind: options}``."""
        return dict(self.made_of.get("definitions", {}))

    @property
    def text(self) -> str:
        """The whole record as JSON."""
        return json.dumps(self.made_of, indent=1, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True)
class Agreement:
    """One thing that made the cells, and its values with the cells that had each; more than one is worth a look."""

    name: str
    values: tuple[tuple[str, int], ...]

    @property
    def mixed(self) -> bool:
        """Whether cells were made with different values."""
        return len(self.values) > 1


def read_cells(cells: Sequence[Mapping[str, str]], command: str) -> list[CellRecord]:
    """Read what made each cell.

    Parameters
    ----------
    cells
        ``corpus``, ``condition``, ``embedder``, ``reranker``, ``scores`` and ``provenance`` (paths) of each.
    command
        What makes a target of this run, to be followed by the target.

    Raises
    ------
    ValueError
        If a provenance file is no JSON; the message names it.
    """
    return [_read(cell, command) for cell in cells]


def _read(cell: Mapping[str, str], command: str) -> CellRecord:
    try:
        made_of = json.loads(Path(cell["provenance"]).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{cell['provenance']}: no JSON ({error}); delete it and run the workflow again") from None
    names = (cell["corpus"], cell["condition"], cell["embedder"], cell["reranker"])
    return CellRecord(*names, command=f"{command} {cell['scores']}", made_of=made_of)


def agreements(cells: Sequence[CellRecord]) -> list[Agreement]:
    """Return commit, Python, machine, models, prompts and packages with the cells that each value made."""
    rows: dict[str, dict[str, int]] = {}
    for cell in cells:
        for name, value in _facts(cell.made_of):
            values = rows.setdefault(name, {})
            values[value] = values.get(value, 0) + 1
    return [Agreement(name, tuple(values.items())) for name, values in rows.items()]


def _facts(made_of: Mapping[str, Any]) -> list[tuple[str, str]]:
    commit = made_of.get("commit")
    state = "not in a git checkout"
    if commit:
        state = commit["id"] + (" with uncommitted changes" if commit.get("dirty") else "")
    code = hashlib.sha256(json.dumps(made_of.get("code", {}), sort_keys=True).encode()).hexdigest()
    facts = [
        ("commit", state),
        ("code (digest of all fingerprints)", code[:16]),
        ("Python", str(made_of.get("python"))),
        ("machine", str(made_of.get("machine"))),
    ]
    facts += [(f"model {name}", str(value)) for name, value in made_of.get("models", {}).items()]
    facts += [
        (f"prompt {name}", f"version {prompt['version']}, SHA-256 {prompt['sha256'][:16]}")
        for name, prompt in made_of.get("prompts", {}).items()
    ]
    return facts + [(name, str(value)) for name, value in made_of.get("packages", {}).items()]


def definitions_of(cells: Sequence[CellRecord]) -> dict[str, Mapping[str, Any]]:
    """Return the definitions of each condition, from the first cell that has it."""
    found: dict[str, Mapping[str, Any]] = {}
    for cell in cells:
        found.setdefault(cell.condition, cell.definitions)
    return found

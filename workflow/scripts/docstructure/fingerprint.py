"""A digest of the code that a rule will run: its script and everything of this library that it imports.

Snakemake reruns a rule when its params change but does not see edits of an imported module. Each rule therefore carries
this digest as a param. Standard library only: the Snakefile imports it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = "docstructure"
SCRIPTS = Path(__file__).resolve().parent.parent


def fingerprint(script: str, *modules: str) -> str:
    """Return ``code=<digest>`` of a script, of further modules, and of all that they import from this library.

    Imports inside functions count: a kind's heavy imports are lazy, its code is not less its code. Files are hashed
    byte for byte (a comment counts; ``snakemake --touch`` accepts an edit without running anything), and their place
    on disk is not, so that moving a checkout reruns nothing.

    Parameters
    ----------
    script
        File name inside workflow/scripts.
    modules
        Full dotted names of the kinds' modules that the rule resolves by name at run time.
    """
    return f"code={_digest(closure(script, *modules))}"


def digests() -> dict[str, str]:
    """Return a digest of every module and package of the library, and of all scripts: what provenance records.

    Unlike `fingerprint` it follows no import, so that kinds that are resolved by name are in it, and it costs little.
    """
    units: dict[str, list[Path]] = {"scripts": sorted(SCRIPTS.glob("*.py"))}
    for file in sorted((SCRIPTS / PACKAGE).rglob("*.py")):
        units.setdefault(file.relative_to(SCRIPTS / PACKAGE).with_suffix("").parts[0], []).append(file)
    return {unit: _digest(files) for unit, files in sorted(units.items())}


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(SCRIPTS).as_posix()}\0".encode())
        digest.update(_bytes(file))
    return digest.hexdigest()[:16]


@cache
def closure(script: str, *modules: str) -> tuple[Path, ...]:
    """Return the files that `fingerprint` covers, sorted.

    Raises
    ------
    FileNotFoundError
        If the script or one of the modules does not exist.
    """
    open_ = [SCRIPTS / script, *(_require(module) for module in modules)]
    found: set[Path] = set()
    while open_:
        file = open_.pop()
        if file not in found:
            found.add(file)
            open_.extend(_imports(file))
    return tuple(sorted(found))


@cache
def _bytes(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the files of this library that `file` imports, packages on the way included."""
    names: list[str] = []
    for node in ast.walk(ast.parse(_bytes(file), filename=str(file))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ImportError(f"{file}: relative imports are not used here: write from {PACKAGE}.… import …")
            names += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    files: list[Path] = []
    for name in names:
        parts = name.split(".")
        if parts[0] == PACKAGE:
            prefixes = (".".join(parts[: size + 1]) for size in range(len(parts)))
            files += [path for path in map(_locate, prefixes) if path is not None]
    return tuple(files)


@cache
def _locate(module: str) -> Path | None:
    base = SCRIPTS.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _require(module: str) -> Path:
    path = _locate(module)
    if path is None:
        raise FileNotFoundError(f"module {module} does not exist in {SCRIPTS}")
    return path

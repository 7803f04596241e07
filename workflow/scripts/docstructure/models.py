"""Where a model's files are, and which revision they are: from the hub's cache, an installed package or a folder."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class ModelError(FileNotFoundError):
    """A model's files are not where the config says."""


@dataclass(frozen=True)
class Model:
    """A model on disk.

    Parameters
    ----------
    name
        As the config calls it: hub id, package or folder name.
    revision
        Commit of the hub, version of the package, or digest of the folder's files. Never a path.
    folder
        Where its files are.
    """

    name: str
    revision: str
    folder: Path

    @property
    def identity(self) -> str:
        """Name and revision, for cache keys and provenance."""
        return f"{self.name}@{self.revision}"


def locate(spec: Mapping[str, str]) -> Model:
    """Find the files of a model.

    Parameters
    ----------
    spec
        One of ``{hub: organisation/name, revision: commit}``, ``{package: module, path: folder inside it}`` or
        ``{folder: path}``. Hub models are read from the local cache (HF_HOME); they are downloaded only where
        HF_HUB_OFFLINE is not set.

    Raises
    ------
    ModelError
        If the files are not there; the message says what to install, download or correct.
    """
    if "package" in spec:
        return _in_package(spec["package"], spec.get("path", "."))
    if "folder" in spec:
        return _in_folder(Path(spec["folder"]))
    if "hub" in spec:
        return _on_hub(spec["hub"], spec.get("revision"))
    raise ModelError(
        f"a model is written {{hub: id, revision: commit}}, {{package: module}} or {{folder: path}}; found {dict(spec)}"
    )


def _in_package(module: str, path: str) -> Model:
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise ModelError(f"model package {module} is not installed in this environment")
    folder = Path(next(iter(found.submodule_search_locations))) / path
    if not folder.is_dir():
        raise ModelError(f"model package {module} has no folder {path}")
    distributions = importlib.metadata.packages_distributions().get(module, [module])
    return Model(module, importlib.metadata.version(distributions[0]), folder)


def _in_folder(folder: Path) -> Model:
    if not folder.is_dir():
        raise ModelError(f"model folder {folder} does not exist")
    return Model(folder.name, _digest(folder.resolve()), folder)


def _on_hub(name: str, revision: str | None) -> Model:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, revision=revision))
    except Exception as error:
        raise ModelError(
            f"model {name} (revision {revision or 'main'}) is not in the local cache and could not be downloaded; "
            f"fetch it where there is a network (snakemake ... -- prefetch): {error}"
        ) from error
    return Model(name, folder.name, folder)


@cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()[:16]

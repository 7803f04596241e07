"""Fetch what a study needs from the network: models at their revisions, and what the corpora are built from.

Compute nodes of a cluster often have no network. This runs where there is one, and fills the caches (HF_HOME, and the
folders that the builders name) from which the jobs read offline.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docstructure.corpora import BUILDERS
from docstructure.models import ModelError, locate

SHA256, GIT_SHA1 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


def prefetch(*, definitions: Mapping[str, Any], corpora: Mapping[str, Mapping[str, Any]]) -> None:
    """Download every hub model that is named, check its bytes, and build every corpus once.

    A corpus is built and thrown away: what its builder downloads stays in its cache, and a source that has changed or
    is damaged is found now and not in the queue.

    Parameters
    ----------
    definitions
        Whatever names models: tokenizer, embedders, rerankers, language models. Anything of the form
        ``{hub: id, revision: commit}`` inside is fetched.
    corpora
        Builder of each corpus, ``{name: {kind: {options}}}``.

    Raises
    ------
    ModelError
        If a model is not pinned to a commit, cannot be had, or a file is not the one that the hub named.
    CorpusError
        If a corpus cannot be built.
    """
    specs = {(spec["hub"], spec.get("revision", "")): spec for spec in hub_models(definitions)}
    for (name, revision), spec in specs.items():
        if not GIT_SHA1.fullmatch(revision):
            raise ModelError(f"model {name} has revision {revision!r}; a commit (40 hexadecimal digits) does not move")
        model = locate(spec)
        files, size = verify_snapshot(model.folder)
        print(f"{model.identity}: {files} files, {size / 1e6:,.0f} MB, checksums right", file=sys.stderr, flush=True)
    for name, builder in corpora.items():
        options, build = BUILDERS.resolve(builder)
        corpus = build(options)
        print(f"corpus {name}: {len(corpus.documents):,} documents from its source", file=sys.stderr, flush=True)


def hub_models(value: Any) -> Iterator[Mapping[str, str]]:  # noqa: ANN401 (any definition)
    """Yield every ``{hub: …, revision: …}`` inside a definition."""
    if isinstance(value, Mapping):
        if "hub" in value:
            yield value
        else:
            for entry in value.values():
                yield from hub_models(entry)


def verify_snapshot(folder: Path) -> tuple[int, int]:
    """Hash the files of a hub snapshot and compare with the names that the hub's cache keeps them under.

    The cache stores a file under its ETag: the sha256 of a large file, git's own sha1 of a small one.

    Returns
    -------
    files, size
        How many files, and bytes in all.

    Raises
    ------
    ModelError
        If a file has other bytes; deleting it makes the next call fetch it again.
    """
    files = size = 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        blob = path.resolve()
        files, size = files + 1, size + blob.stat().st_size
        if SHA256.fullmatch(blob.name):
            digest = hashlib.sha256()
        elif GIT_SHA1.fullmatch(blob.name):
            digest = hashlib.sha1(f"blob {blob.stat().st_size}\0".encode(), usedforsecurity=False)
        else:
            continue  # a cache without links (some file systems): nothing to compare with
        with blob.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        if digest.hexdigest() != blob.name:
            raise ModelError(f"{path}: its bytes are not those of {blob.name}; delete {blob} and fetch it again")
    if not files:
        raise ModelError(f"{folder} holds no file")
    return files, size

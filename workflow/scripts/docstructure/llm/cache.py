"""Answers on disk, found by the content of what was asked; outside the DAG, like the vector store (design.md §6).

Each answer is one small file of its own, ``{first two digits}/{key}.json``: a checksum, then JSON. It is written under
a name of its own and linked into place whole, which fails where another job's answer already is: whichever came first
stands for all, without a lock. A file whose checksum does not match is reported and ignored, and the question is asked
again.

Answers that failed are kept as well, as a record, in ``{key}.failed.json``: `Client` asks again where an engine may be
started, and a stage that may not start one still knows why there is no answer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docstructure.contracts.completions import COMPLETIONS
from docstructure.llm.request import Request, Result
from docstructure.llm.sampling import Sampling

FORMAT = 1
SHARD_DIGITS = 2
SUFFIX = ".json"
FAILED_SUFFIX = ".failed.json"
COMPLETE = "stop"
DAMAGED = (ValueError, TypeError, OSError)

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """An answer as it is stored; the fields are those of `docstructure.contracts.completions`."""

    key: str
    identity: str
    text: str
    finish_reason: str
    n_prompt_tokens: int
    n_completion_tokens: int
    error: str

    def result(self, request_id: str) -> Result:
        """Return the answer to the request of this id."""
        return Result(
            request_id, self.text, self.finish_reason, self.n_prompt_tokens, self.n_completion_tokens, self.error
        )


def key_of(identity: str, request: Request, sampling: Sampling) -> str:
    """Return the SHA-256 of everything that decides an answer, hex; the request's id is no part of it."""
    asked = {
        "format": FORMAT,
        "identity": identity,
        "messages": [list(message) for message in request.messages],
        "schema": request.schema,
        "max_tokens": request.max_tokens,
        "sampling": asdict(sampling),
    }
    return hashlib.sha256(_json(asked)).hexdigest()


class CompletionCache:
    """A folder of answers.

    Parameters
    ----------
    folder
        The cache; made when something is written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, key: str, *, failed: bool = False) -> Path:
        """Return where the complete answer of a key is or would be, or the record of a failed one."""
        return self.folder / key[:SHARD_DIGITS] / f"{key}{FAILED_SUFFIX if failed else SUFFIX}"

    def read(self, key: str) -> Entry | None:
        """Return the stored answer; None when there is none, or when its file is damaged (which is reported)."""
        return self._read(self.path(key), key) or self._read(self.path(key, failed=True), key)

    def _read(self, path: Path, key: str, *, level: int = logging.WARNING) -> Entry | None:
        try:
            return _unpack(path.read_bytes(), key)
        except FileNotFoundError:
            return None
        except DAMAGED as error:
            LOG.log(level, "%s is damaged and ignored, its question is asked again: %s", path, error)
            return None

    def write(self, entry: Entry) -> Entry:
        """Store an answer and return what stands: the first complete answer to a question is never replaced."""
        complete = self.path(entry.key)
        if entry.finish_reason != COMPLETE:
            stored = self._read(complete, entry.key, level=logging.DEBUG)
            if stored is None:
                _place(entry, self.path(entry.key, failed=True))
            return stored or entry
        if not _place(entry, complete, over=False):
            stored = self._read(complete, entry.key, level=logging.DEBUG)
            if stored is not None:
                return stored
            _place(entry, complete)
        return entry

    def entries(self) -> Iterator[Entry]:
        """Yield every undamaged answer, by key; a complete one instead of the record of a failure."""
        files = self.folder.glob(f"{'[0-9a-f]' * SHARD_DIGITS}/*{SUFFIX}")
        for key in sorted({file.name.partition(".")[0] for file in files}):
            entry = self.read(key)
            if entry is not None:
                yield entry


def _place(entry: Entry, path: Path, *, over: bool = True) -> bool:
    """Give an entry its place, whole, and return whether it has it: not over another where it may not be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        partial.write_bytes(_pack(entry))
        if not over:
            try:
                os.link(partial, path)
                return True
            except FileExistsError:
                return False
            except OSError:  # no hard links here: two that answer in the same moment are not told apart
                if path.exists():
                    return False
        partial.replace(path)
        return True
    finally:
        partial.unlink(missing_ok=True)


def export_cache(folder: str, completions: str) -> int:
    """Write every answer of a cache into one parquet file and return how many there are.

    The same answers give the same bytes. Prompts are not in it: their digest, the key, is.
    """
    frame = COMPLETIONS.frame([asdict(entry) for entry in CompletionCache(folder).entries()])
    COMPLETIONS.write(frame, completions)
    return frame.height


def import_cache(completions: str, folder: str) -> int:
    """Add the answers of an exported file to a cache and return how many were new.

    A complete answer that is there stays; the record of a failure does not stand in the way of a complete one.
    """
    cache = CompletionCache(folder)
    added = 0
    for row in COMPLETIONS.read(completions).iter_rows(named=True):
        entry = Entry(**row)
        stored = cache.read(entry.key)
        if stored is None or (stored.finish_reason != COMPLETE and entry.finish_reason == COMPLETE):
            cache.write(entry)
            added += 1
    return added


def _json(value: Mapping[str, Any]) -> bytes:
    # escapes: an answer may hold half of a surrogate pair, which has no UTF-8
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _pack(entry: Entry) -> bytes:
    body = _json(asdict(entry))
    return hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body + b"\n"


def _unpack(packed: bytes, key: str) -> Entry:
    checksum, _, rest = packed.partition(b"\n")
    body = rest.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest().encode("ascii") != checksum:
        raise ValueError("its checksum does not match: truncated or altered")
    entry = Entry(**json.loads(body))
    if entry.key != key:
        raise ValueError(f"it holds the answer of another key, {entry.key}")
    return entry

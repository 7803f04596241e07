"""Answers on disk, found by the content of what was asked; outside the DAG, like the vector store (design.md §6).

Each answer is one small file of its own, ``{first two digits}/{key}.json``: a checksum, then JSON. It is written under
a name of its own and moved into place whole, so that several jobs on one file system need no lock. A file whose
checksum does not match is reported and ignored, and the question is asked again.

Answers that failed are kept as well, as a record: `Client` asks again where an engine may be started, and a stage that
may not start one still knows why there is no answer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docstructure.contracts.completions import COMPLETIONS
from docstructure.llm.request import Request, Result
from docstructure.llm.sampling import Sampling

FORMAT = 1
SHARD_DIGITS = 2
SUFFIX = ".json"
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

    def path(self, key: str) -> Path:
        """Return where the answer of a key is or would be."""
        return self.folder / key[:SHARD_DIGITS] / f"{key}{SUFFIX}"

    def read(self, key: str) -> Entry | None:
        """Return the stored answer; None when there is none, or when its file is damaged (which is reported)."""
        path = self.path(key)
        try:
            return _unpack(path.read_bytes(), key)
        except FileNotFoundError:
            return None
        except DAMAGED as error:
            LOG.warning("%s is damaged and ignored, its question is asked again: %s", path, error)
            return None

    def write(self, entry: Entry) -> Entry:
        """Store an answer and return what stands: the first complete answer to a question is never replaced."""
        path = self.path(entry.key)
        with suppress(*DAMAGED):
            stored = _unpack(path.read_bytes(), entry.key)
            if stored.finish_reason == "stop":
                return stored
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{uuid.uuid4().hex}.partial")
        try:
            partial.write_bytes(_pack(entry))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return entry

    def entries(self) -> Iterator[Entry]:
        """Yield every undamaged answer, by key."""
        for path in sorted(self.folder.glob(f"{'[0-9a-f]' * SHARD_DIGITS}/*{SUFFIX}")):
            entry = self.read(path.stem)
            if entry is not None:
                yield entry


def export_cache(folder: str, completions: str) -> int:
    """Write every answer of a cache into one parquet file and return how many there are.

    The same answers give the same bytes. Prompts are not in it: their digest, the key, is.
    """
    frame = COMPLETIONS.frame([asdict(entry) for entry in CompletionCache(folder).entries()])
    COMPLETIONS.write(frame, completions)
    return frame.height


def import_cache(completions: str, folder: str) -> int:
    """Add the answers of an exported file to a cache and return how many were new; what is there stays."""
    cache = CompletionCache(folder)
    added = 0
    for row in COMPLETIONS.read(completions).iter_rows(named=True):
        entry = Entry(**row)
        if cache.read(entry.key) is None:
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

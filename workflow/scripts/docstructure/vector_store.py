"""Vectors of texts that were embedded before: content-addressed, append-only, outside the DAG (design.md §6).

A store is a folder. Inside it, each embedder identity (everything that decides a vector's bits) has a folder of its
own with *segments*: immutable files of keys and vectors, each written under a name of its own and moved into place
whole, so that several jobs on one file system need no lock. Two jobs may embed the same text; they never change each
other's bytes. A segment carries a checksum of all it holds; one that does not match is reported and ignored, never
trusted. Nothing but time is lost when the folder is deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"dsvec001"
SUFFIX = ".segment"
KEY_BYTES = 16
CHECKSUM_BYTES = 32
FLUSH_SECONDS = 20.0

Floats = NDArray[np.float32]
Counts = NDArray[np.int32]


class SegmentError(ValueError):
    """A segment is truncated, altered, or of another embedder."""


@dataclass(frozen=True)
class Segment:
    """Some texts' vectors.

    Parameters
    ----------
    keys
        What `VectorStore.keys` returns for each text.
    n_tokens
        Tokens of each text as the model counts them, special ones included, before truncation.
    vectors
        Shape (keys, width).
    """

    keys: list[bytes]
    n_tokens: Counts
    vectors: Floats

    def pack(self) -> bytes:
        """Return the bytes of the segment's file: magic, checksum of the rest, counts, keys, token counts, vectors."""
        n, width = self.vectors.shape
        body = b"".join(
            (
                np.array([n, width], dtype="<u4").tobytes(),
                b"".join(self.keys),
                self.n_tokens.astype("<i4").tobytes(),
                self.vectors.astype("<f4").tobytes(),
            )
        )
        return MAGIC + _checksum(body) + body

    @classmethod
    def unpack(cls, packed: bytes, width: int) -> Segment:
        """Read what `pack` returned.

        Raises
        ------
        SegmentError
            If any byte differs from what was written, or the vectors are not `width` wide.
        """
        head = len(MAGIC) + CHECKSUM_BYTES
        body = memoryview(packed)[head:]
        if packed[: len(MAGIC)] != MAGIC:
            raise SegmentError("it does not begin as a segment does")
        if packed[len(MAGIC) : head] != _checksum(body):
            raise SegmentError("its checksum does not match: truncated or altered")
        n, found_width = (int(value) for value in np.frombuffer(body, dtype="<u4", count=2))
        if found_width != width or len(body) != 8 + n * (KEY_BYTES + 4 + 4 * width):
            raise SegmentError(f"it holds vectors of width {found_width}, not {width}")
        at = 8 + n * KEY_BYTES
        keys = bytes(body[8:at])
        return cls(
            [keys[i : i + KEY_BYTES] for i in range(0, len(keys), KEY_BYTES)],
            np.frombuffer(body, dtype="<i4", count=n, offset=at),
            np.frombuffer(body, dtype="<f4", count=n * width, offset=at + 4 * n).reshape(n, width),
        )


class VectorStore:
    """The stored vectors of one embedder.

    As a context manager it is left with everything written; a process killed inside it loses what it added since its
    last flush, at most `flush_seconds` of work.

    Parameters
    ----------
    folder
        The store; made when something is written.
    identity
        Everything that decides a vector's bits except the text: model, revision and digest, data type, device, shapes,
        pooling, versions. JSON values. It is hashed into every key and names the sub-folder.
    width
        Length of a vector.
    flush_seconds
        How much work a killed process may lose.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        identity: Mapping[str, Any],
        width: int,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._described = json.dumps(dict(identity), sort_keys=True, indent=1, ensure_ascii=False)
        self._salt = hashlib.blake2b(self._described.encode(), digest_size=32).digest()
        self.folder = Path(folder) / self._salt.hex()[:16]
        self.width = width
        self._flush_seconds = flush_seconds
        self._pending: list[Segment] = []
        self._parts: list[Path] = []
        self._flushed_at = time.monotonic()

    def __enter__(self) -> VectorStore:
        self._flushed_at = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        if kind is None:
            self._join_parts()

    def keys(self, texts: Sequence[str]) -> list[bytes]:
        """Return the key of each text: a digest of the embedder's identity and the text's UTF-8 bytes."""
        return [hashlib.blake2b(self._salt + text.encode(), digest_size=KEY_BYTES).digest() for text in texts]

    def read(self, keys: Sequence[bytes]) -> tuple[NDArray[np.bool_], Counts, Floats]:
        """Look up distinct keys.

        Returns
        -------
        found
            Shape (keys,): whether the store holds the key.
        n_tokens
            Shape (keys,): token counts; 0 where not found.
        vectors
            Shape (keys, width); unset where not found.
        """
        row_of = {key: row for row, key in enumerate(keys)}
        found = np.zeros(len(keys), dtype=np.bool_)
        n_tokens = np.zeros(len(keys), dtype=np.int32)
        vectors = np.empty((len(keys), self.width), dtype=np.float32)
        seen: set[str] = set()
        while row_of:
            paths = [path for path in self._segments() if path.name not in seen]
            if not paths:
                break
            for path in paths:
                seen.add(path.name)
                segment = self._load(path)
                if segment is None:
                    continue
                hits = [(row_of.pop(key), at) for at, key in enumerate(segment.keys) if key in row_of]
                if hits:
                    rows, places = np.array(hits, dtype=np.intp).T
                    found[rows] = True
                    n_tokens[rows] = segment.n_tokens[places]
                    vectors[rows] = segment.vectors[places]
        return found, n_tokens, vectors

    def add(self, keys: Sequence[bytes], n_tokens: Counts, vectors: Floats) -> None:
        """Add vectors; they are on disk after the next flush, which comes by itself every `flush_seconds`."""
        if vectors.shape != (len(keys), self.width) or n_tokens.shape != (len(keys),):
            raise ValueError(f"{len(keys)} keys with vectors of shape {vectors.shape}; expected width {self.width}")
        self._pending.append(Segment(list(keys), n_tokens, vectors))
        if time.monotonic() - self._flushed_at >= self._flush_seconds:
            self.flush()

    def flush(self) -> None:
        """Write what was added since the last flush as one segment."""
        if self._pending:
            self._parts.append(self._write(_join(self._pending)))
            self._pending = []
        self._flushed_at = time.monotonic()

    def _segments(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def _load(self, path: Path) -> Segment | None:
        # read, not mapped: a mapped file that another machine removes kills the process that touches it
        try:
            return Segment.unpack(path.read_bytes(), self.width)
        except FileNotFoundError:  # its job joined it with its other parts: the joined segment is in the next listing
            return None
        except (SegmentError, OSError) as error:
            print(
                f"vector store: {path} is ignored, its texts are embedded again: {error}", file=sys.stderr, flush=True
            )
            return None

    def _write(self, segment: Segment) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        description = self.folder / "identity.json"
        if not description.exists():
            _replace(description, self._described.encode())
        path = self.folder / f"{uuid.uuid4().hex}{SUFFIX}"
        _replace(path, segment.pack())
        return path

    def _join_parts(self) -> None:
        """Join the segments that this job wrote, so that a slow job does not leave one file per flush.

        The joined segment is in place before its parts go; a reader that meets a part that has gone lists again.
        """
        if len(self._parts) > 1:
            loaded = [(path, self._load(path)) for path in self._parts]
            good = [(path, segment) for path, segment in loaded if segment is not None]
            if good:
                self._write(_join([segment for _, segment in good]))
            for path, _ in good:
                path.unlink(missing_ok=True)
        self._parts = []


def _join(segments: Sequence[Segment]) -> Segment:
    return Segment(
        [key for segment in segments for key in segment.keys],
        np.concatenate([segment.n_tokens for segment in segments]),
        np.concatenate([segment.vectors for segment in segments]),
    )


def _checksum(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=CHECKSUM_BYTES).digest()


def _replace(path: Path, content: bytes) -> None:
    """Write `path` whole or not at all, whoever else writes it."""
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

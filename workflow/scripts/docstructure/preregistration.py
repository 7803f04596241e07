"""The pre-registration record: written before the first score, appended to when the registered block changes."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from docstructure.contracts.registration import REGISTRATION
from docstructure.provenance import commit

SCORES = "cells/*/*/*/scores.parquet"
"""The scores of a corpus, from the folder that its record lies in."""

ABSENT = "absent"


def record(preregistration: Mapping[str, Any], contrasts: Mapping[str, Sequence[str]], output: str) -> None:
    """Append the registered block to the record, unless it is the block that was registered last.

    Parameters
    ----------
    preregistration
        The confirmatory cell and the names of the contrasts.
    contrasts
        What each registered contrast subtracts.
    output
        JSON-lines file: one entry per registration, oldest first, never rewritten. An entry says how many scores lay
        beside the record when it was made: a block that came after the first score cannot pass for one before it.
    """
    block = {"preregistration": preregistration, "contrasts": contrasts}
    digest = digest_of(preregistration, contrasts)
    path = Path(output)
    entries = read_record(output) if path.exists() else []
    if entries and entries[-1]["digest"] == digest:
        return
    entry = {
        "digest": digest,
        "registered": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "scores": sum(1 for _ in path.parent.glob(SCORES)),
        **block,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry, sort_keys=True, ensure_ascii=False) + "\n")


class RecordError(ValueError):
    """The record is missing, empty or damaged; the message names the file and the line."""


def digest_of(preregistration: Mapping[str, Any], contrasts: Mapping[str, Sequence[str]]) -> str:
    """Return the SHA-256 of a registered block."""
    block = {"preregistration": preregistration, "contrasts": contrasts}
    return hashlib.sha256(json.dumps(block, sort_keys=True).encode()).hexdigest()


def read_record(path: str) -> list[dict[str, Any]]:
    """Return the entries of a record, oldest first.

    Raises
    ------
    RecordError
        If the file is missing or a line is no entry, or its digest is not that of its block.
    """
    if not Path(path).is_file():
        raise RecordError(f"{path}: no such file; it is written before the first score")
    entries = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
            right = entry["digest"] == digest_of(entry["preregistration"], entry["contrasts"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise RecordError(f"{path}: line {number} is no entry: {error}") from None
        if not right:
            raise RecordError(f"{path}: line {number}: the digest is not that of its block; the record was edited")
        entries.append(entry)
    return entries


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs between two registered blocks, key by key: ``key: old -> new``."""
    before, after = (
        dict(_leaves({"preregistration": e["preregistration"], "contrasts": e["contrasts"]})) for e in (old, new)
    )
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key, ABSENT), after.get(key, ABSENT)
        if was != now:
            yield f"{key}: {was} -> {now}"


def build_registration(
    *, record: str, preregistration: Mapping[str, Any], contrasts: Mapping[str, Sequence[str]], table: str
) -> None:
    """Write ``registration.parquet``: the record as a table, with what each entry changed.

    Parameters
    ----------
    record
        Path of the record.
    preregistration, contrasts
        The block of the config that runs.
    table
        Path that is written.

    Raises
    ------
    RecordError
        As `read_record`.
    """
    entries = read_record(record)
    current = digest_of(preregistration, contrasts)
    rows = [
        {
            "entry": index,
            "digest": entry["digest"],
            "registered": entry["registered"],
            "commit": (entry["commit"] or {}).get("id", ""),
            "scores_before": entry.get("scores"),
            "changes": list(differences(entries[index - 1], entry)) if index else [],
            "current": index == len(entries) - 1 and entry["digest"] == current,
        }
        for index, entry in enumerate(entries)
    ]
    REGISTRATION.write(REGISTRATION.frame(rows), table)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 (any JSON value)
    """Yield every value that is no mapping, with its dotted key."""
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from _leaves(value[name], f"{key}.{name}" if key else name)
    else:
        yield key, json.dumps(value)

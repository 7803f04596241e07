"""Whether the pre-registered block stands: unchanged since before the first score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Standing:
    """How the block of the config that runs stands to the scores.

    Parameters
    ----------
    sound
        It was registered before the first score, and no other was registered after that.
    registered
        The entry that held at the first score, as a row of `docstructure.contracts.registration`.
    changes
        Every later entry, oldest first, a change back too.
    """

    sound: bool
    registered: Mapping[str, Any]
    changes: tuple[Mapping[str, Any], ...]


def standing(table: pl.DataFrame) -> Standing | None:
    """Say whether the current block is unchanged since before the first score, and what changed and when if not.

    An entry counts as made before the first score only where it says that there was none: the record may have been
    deleted and begun anew. What changed while there was no score yet is no change.

    Parameters
    ----------
    table
        ``registration.parquet`` of one corpus.

    Returns
    -------
    Standing | None
        None where the block of the config that runs is not in the record.
    """
    entries = table.sort("entry").rows(named=True)
    if not any(entry["current"] for entry in entries):
        return None
    held = max((index for index, entry in enumerate(entries) if entry["scores_before"] == 0), default=0)
    early, later = entries[held]["scores_before"] == 0, entries[held + 1 :]
    return Standing(early and not later, entries[held], tuple(later))

"""Which documents are in every index of a corpus: declared in the config, never derived from the conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.structures import STRUCTURES

SHOWN = 5


class EligibilityError(ValueError):
    """No document is eligible, or the artifacts asked do not fit together."""


def build_eligible(
    documents: str, structures: Mapping[str, str], queries: str | None, require_queries: bool, eligible: str
) -> None:
    """Write which documents are eligible, and why others are not.

    Parameters
    ----------
    documents
        Parquet file of the corpus.
    structures
        Name of each structure that must be usable, with its structures file.
    queries
        Queries file; needed only when `require_queries`.
    require_queries
        Whether a document without a query is ineligible.
    eligible
        Parquet file to write; rows in the order of `documents`.

    Raises
    ------
    EligibilityError
        If no document is eligible, a structures file has not exactly the corpus's documents, or `queries` is missing.
    """
    ids = DOCUMENTS.read(documents, columns=["doc_id"])["doc_id"].to_list()
    statuses = {name: _statuses(path, ids) for name, path in structures.items()}
    asked: set[str] | None = None
    if require_queries:
        if queries is None:
            raise EligibilityError("eligibility requires queries, but the corpus has no queries file")
        asked = set(QUERIES.read(queries, columns=["doc_id"])["doc_id"].to_list())
    frame = eligible_frame(ids, statuses, asked)
    if not frame["eligible"].any():
        reasons = Counter(frame["reason"].to_list()).most_common(SHOWN)
        listed = "; ".join(f"{reason}: {count} documents" for reason, count in reasons) or "the corpus is empty"
        raise EligibilityError(f"{documents}: none of {len(ids)} documents is eligible: {listed}")
    ELIGIBLE.write(frame, eligible)


def _statuses(path: str, ids: list[str]) -> dict[str, str]:
    frame = STRUCTURES.read(path, columns=["doc_id", "status"])
    statuses = dict(frame.select("doc_id", "status").iter_rows())
    if statuses.keys() != set(ids):
        odd = sorted(statuses.keys() ^ set(ids))
        raise EligibilityError(f"{path}: {len(odd)} documents are here or in the corpus, not in both: {odd[:SHOWN]}")
    return statuses


def eligible_frame(ids: list[str], statuses: Mapping[str, Mapping[str, str]], asked: set[str] | None) -> pl.DataFrame:
    """Return eligible.parquet's rows.

    Parameters
    ----------
    ids
        Documents, in order.
    statuses
        Structure to document to status.
    asked
        Documents with a query, or None when that is not required.
    """
    reasons = []
    for doc_id in ids:
        reason = [f"structure {name}: unusable" for name in statuses if statuses[name][doc_id] == "unusable"]
        if asked is not None and doc_id not in asked:
            reason.append("no query")
        reasons.append("; ".join(reason))
    return ELIGIBLE.frame({"doc_id": ids, "eligible": [not reason for reason in reasons], "reason": reasons})

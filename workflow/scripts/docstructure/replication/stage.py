"""The stage that gives every number of the paper a verdict for one corpus of a run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from docstructure.contracts.bm25_probe import BM25_PROBE
from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.contracts.funnel_summary import FUNNEL_SUMMARY
from docstructure.contracts.means import MEANS
from docstructure.contracts.per_type import PER_TYPE
from docstructure.contracts.query_profile import QUERY_PROFILE
from docstructure.contracts.replication import REPLICATION
from docstructure.contracts.size_match import SIZE_MATCH
from docstructure.contracts.span_identity import SPAN_IDENTITY
from docstructure.contracts.structure_summary import STRUCTURE_SUMMARY
from docstructure.contracts.topics import TOPICS
from docstructure.replication.expected import Expected, Number, load
from docstructure.replication.run import Measured, Run
from docstructure.replication.tolerances import tolerance
from docstructure.replication.verdicts import DIFFERENT, NOT_MEASURED, SAME, agrees, compare, is_directional

LOG = logging.getLogger(__name__)

CONTRACTS = {
    contract.name: contract
    for contract in (
        CONTRASTS,
        MEANS,
        DOSE_RESPONSE,
        PER_TYPE,
        TOPICS,
        FUNNEL_SUMMARY,
        QUERY_PROFILE,
        STRUCTURE_SUMMARY,
        SIZE_MATCH,
        SPAN_IDENTITY,
        BM25_PROBE,
    )
}


def build_replication(
    *, expected: str, corpus: str, cell: Mapping[str, str], tables: Mapping[str, str], table: str
) -> None:
    """Write ``replication.parquet`` of one corpus.

    On a corpus of the paper each number of that corpus is compared. Numbers of cells are compared only where the
    pre-registered embedder is the paper's; with another one, and on any other corpus, the direction of each contrast,
    step and slope is, beside both corpora of the paper.

    Parameters
    ----------
    expected
        Path of resources/expected.yaml.
    corpus
        Name of the corpus in this run.
    cell
        The pre-registered ``{metric, embedder, reranker}``: its embedder stands for the paper's strong one.
    tables
        Name to path of this corpus's tables: any of contrasts, means, dose_response, per_type, topics, funnel_summary,
        query_profile, structure_summary, size_match, span_identity, bm25_probe.
    table
        Path that is written.

    Raises
    ------
    ValueError
        If a table has an unknown name.
    ExpectedError
        If expected.yaml is not sound.
    """
    unknown = sorted(set(tables) - set(CONTRACTS))
    if unknown:
        raise ValueError(f"table {unknown[0]} is not compared; those that are: {', '.join(CONTRACTS)}")
    paper = load(expected)
    frames = {name: CONTRACTS[name].read(path) for name, path in tables.items()}
    rows = replicate(paper, corpus, cell, frames)
    counts = Counter(row["verdict"] for row in rows)
    LOG.info("%s: %s", corpus, ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    REPLICATION.write(REPLICATION.frame(rows), table)


def replicate(
    paper: Expected, corpus: str, cell: Mapping[str, str], tables: Mapping[str, pl.DataFrame]
) -> list[dict[str, Any]]:
    """Return one row per number of the paper that applies to a corpus of a run, in the order of expected.yaml."""
    same_embedder = paper.roles["embedders"]["strong"] == cell["embedder"]
    embedders = {**paper.roles["embedders"], "strong": cell["embedder"]}
    run = Run(tables, embedders, paper.roles["rerankers"], paper.conditions)
    rows = []
    for number in paper.numbers:
        if corpus in paper.corpora and number.corpus != corpus:
            continue
        if number.corpus == corpus and (same_embedder or not number.of_cells):
            rows.append(_compared(number, corpus, run.measure(number)))
        elif is_directional(number) and (number.embedder == "strong" or same_embedder):
            rows.append(_direction(number, corpus, run.measure(number)))
    return rows


def _compared(number: Number, corpus: str, measured: Measured) -> dict[str, Any]:
    allowed, reason = tolerance(number.value, number.unit, number.tolerance)
    if number.bound == "below":
        allowed, reason = 0.0, "the paper prints an upper bound"
    return _row(number, corpus, measured) | {
        "tolerance": allowed,
        "reason": reason,
        "verdict": compare(number, measured),
    }


def _direction(number: Number, corpus: str, measured: Measured) -> dict[str, Any]:
    found = NOT_MEASURED if measured.value is None else SAME if agrees(number, measured) else DIFFERENT
    return _row(number, corpus, measured) | {
        "tolerance": None,
        "reason": "another corpus or embedder: the direction only",
        "verdict": found,
    }


def _row(number: Number, corpus: str, measured: Measured) -> dict[str, Any]:
    return {
        "id": number.id,
        "source": number.source,
        "paper_corpus": number.corpus,
        "corpus": corpus,
        "quantity": number.quantity,
        "subject": number.subject,
        "metric": number.metric,
        "embedder": number.embedder,
        "reranker": number.reranker,
        "expected": number.value,
        "bound": number.bound,
        "measured": measured.value,
        "difference": None if measured.value is None else measured.value - number.value,
        "note": measured.note,
    }

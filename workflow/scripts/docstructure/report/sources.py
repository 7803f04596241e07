"""The tables that the report is made of: read through their contracts, stacked over corpora, absent where not made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from docstructure.contracts.audit import AUDIT
from docstructure.contracts.bm25_probe import BM25_PROBE
from docstructure.contracts.budget import BUDGET
from docstructure.contracts.contract import Contract
from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.contracts.funnel_summary import FUNNEL_SUMMARY
from docstructure.contracts.means import MEANS
from docstructure.contracts.noise import NOISE
from docstructure.contracts.per_type import PER_TYPE
from docstructure.contracts.placebo_replicates import PLACEBO_REPLICATES
from docstructure.contracts.placebo_residuals import PLACEBO_RESIDUALS
from docstructure.contracts.power import POWER
from docstructure.contracts.query_profile import QUERY_PROFILE
from docstructure.contracts.registration import REGISTRATION
from docstructure.contracts.replication import REPLICATION
from docstructure.contracts.section_recall import SECTION_RECALL
from docstructure.contracts.size_match import SIZE_MATCH
from docstructure.contracts.span_identity import SPAN_IDENTITY
from docstructure.contracts.stage_costs import STAGE_COSTS
from docstructure.contracts.structure_summary import STRUCTURE_SUMMARY
from docstructure.contracts.topics import TOPICS
from docstructure.contracts.truncation import TRUNCATION

REQUIRED = ("contrasts", "means", "audit")

# In the order in which the report lists them, each with what it says in a line.
ARTIFACTS: dict[str, tuple[Contract, str]] = {
    "contrasts": (CONTRASTS, "Every contrast in every cell and metric (paper, Table 1)"),
    "means": (MEANS, "Mean of every metric in every cell (paper, Table 2)"),
    "audit": (AUDIT, "Invariants of the design, measured"),
    "dose_response": (DOSE_RESPONSE, "Slope of the score per level of heading path (paper, 6.6)"),
    "budget": (BUDGET, "Coverage under token budgets, prefixes charged (paper, 6.2)"),
    "per_type": (PER_TYPE, "Contrasts per query type (paper, 6.6)"),
    "section_recall": (SECTION_RECALL, "Section recall of stage 1 by inventory (paper, 6.4)"),
    "power": (POWER, "Minimal detectable effects and power of this corpus"),
    "noise": (NOISE, "Differences that numerics alone make"),
    "placebo_replicates": (PLACEBO_REPLICATES, "The placebo drawn again under further seeds"),
    "placebo_residuals": (PLACEBO_RESIDUALS, "Placebo paths that could not be deranged, per depth"),
    "size_match": (SIZE_MATCH, "Chunk sizes, and their match (paper, 3.2)"),
    "span_identity": (SPAN_IDENTITY, "Chunks with the span of a gold chunk (paper, 6.5)"),
    "structure_summary": (STRUCTURE_SUMMARY, "What became of each document's structure (paper, Table 9)"),
    "truncation": (TRUNCATION, "Prefixes that were cut to fit"),
    "bm25_probe": (BM25_PROBE, "How often a keyword search puts evidence first (paper, I)"),
    "query_profile": (QUERY_PROFILE, "Queries per type"),
    "topics": (TOPICS, "Documents per topic (paper, Table 8)"),
    "funnel_summary": (FUNNEL_SUMMARY, "Documents, queries and evidence that were kept or dropped, and why"),
    "stage_costs": (STAGE_COSTS, "Time and memory of each job"),
    "registration": (REGISTRATION, "The pre-registered blocks, oldest first"),
    "replication": (REPLICATION, "The paper's numbers beside this run's"),
}


class SourcesError(ValueError):
    """The report was asked for something that no artifact can give."""


@dataclass(frozen=True)
class Sources:
    """All tables by name; each has a ``corpus`` column and may be empty."""

    corpora: tuple[str, ...]
    tables: Mapping[str, pl.DataFrame]

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return one table."""
        return self.tables[name]

    def absent(self, name: str) -> list[str]:
        """Return the corpora of which a table says nothing."""
        said = set(self.tables[name]["corpus"])
        return [corpus for corpus in self.corpora if corpus not in said]


def read_sources(corpora: Mapping[str, Mapping[str, str]]) -> Sources:
    """Read every table that was made.

    Parameters
    ----------
    corpora
        Corpus -> artifact -> path. Artifacts are named as in `ARTIFACTS`; contrasts, means and audit are required.

    Raises
    ------
    SourcesError
        If an artifact is unknown or a required one is missing.
    ContractError
        If an artifact is not what its contract promises.
    """
    for corpus, paths in corpora.items():
        _check_names(corpus, paths)
    tables = {name: _stacked(name, contract, corpora) for name, (contract, _) in ARTIFACTS.items()}
    return Sources(tuple(corpora), tables)


def _check_names(corpus: str, paths: Mapping[str, str]) -> None:
    unknown = sorted(set(paths) - set(ARTIFACTS))
    if unknown:
        raise SourcesError(
            f"corpus {corpus}: {unknown[0]} is no artifact of the report; it knows {', '.join(ARTIFACTS)}"
        )
    missing = [name for name in REQUIRED if name not in paths]
    if missing:
        raise SourcesError(f"corpus {corpus}: the report needs {', '.join(missing)}")


def _stacked(name: str, contract: Contract, corpora: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    made = [(corpus, contract.read(paths[name])) for corpus, paths in corpora.items() if name in paths]
    return pl.concat(
        (
            frame.select(pl.lit(corpus).alias("corpus"), pl.exclude("corpus"))
            for corpus, frame in (("", contract.frame([])), *made)
        ),
        how="diagonal",
    )


def write_tables(sources: Sources, folder: str) -> list[tuple[str, str, int]]:
    """Write every table that has rows as CSV and parquet; return name, description and rows of each."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for stale in (*target.glob("*.csv"), *target.glob("*.parquet")):
        stale.unlink()
    written = []
    for name, description, table in _all(sources):
        if table.height:
            table.write_parquet(target / f"{name}.parquet", compression="zstd")
            flat(table).write_csv(target / f"{name}.csv")
            written.append((name, description, table.height))
    return written


def _all(sources: Sources) -> Iterator[tuple[str, str, pl.DataFrame]]:
    for name, (_, description) in ARTIFACTS.items():
        yield name, description, sources[name]


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with lists joined to text, as a CSV can hold them."""
    lists = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List)]
    return table.with_columns(pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; ") for name in lists)

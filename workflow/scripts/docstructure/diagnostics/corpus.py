"""Tables about a corpus: topics, funnels, queries and structures (paper 4, Tables 8 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from docstructure.contracts.contract import Contract, ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.funnel_summary import FUNNEL_SUMMARY
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_profile import QUERY_PROFILE
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.structure_summary import STRUCTURE_SUMMARY
from docstructure.contracts.structures import STRUCTURES
from docstructure.contracts.topics import TOPICS

ALL_TYPES = "all"


def build_corpus_tables(
    *,
    documents: str,
    queries: str,
    eligible: str,
    funnels: Sequence[str],
    structures: Sequence[str],
    structure_files: Sequence[str],
    section_files: Sequence[str],
    topics: str,
    funnel_summary: str,
    query_profile: str,
    structure_summary: str,
) -> None:
    """Write the tables of one corpus.

    Parameters
    ----------
    documents, queries, eligible
        Artifacts of the corpus (paths).
    funnels
        Folders of funnel files, in the order of the stages.
    structures, structure_files, section_files
        Structures in use, and their two files in the same order.
    topics, funnel_summary, query_profile, structure_summary
        Files to write.

    Raises
    ------
    ContractError
        If an artifact is not as promised, or two funnel folders hold the same stage.
    """
    asked = QUERIES.read(queries)
    TOPICS.write(topic_table(DOCUMENTS.read(documents, columns=["doc_id", "topic"]), asked), topics)
    FUNNEL_SUMMARY.write(funnel_table(read_funnels(funnels)), funnel_summary)
    QUERY_PROFILE.write(query_table(asked, ELIGIBLE.read(eligible)), query_profile)
    rows = [
        structure_row(name, STRUCTURES.read(statuses), SECTIONS.read(sections))
        for name, statuses, sections in zip(structures, structure_files, section_files, strict=True)
    ]
    STRUCTURE_SUMMARY.write(STRUCTURE_SUMMARY.frame(rows), structure_summary)


def topic_table(documents: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Return documents and queries per topic, most documents first.

    Parameters
    ----------
    documents
        ``doc_id`` and ``topic``.
    queries
        By the queries contract.
    """
    topics = documents.select("doc_id", topic=pl.col("topic").fill_null(""))
    asked = queries.join(topics, on="doc_id", how="left").group_by("topic").agg(n_queries=pl.len())
    table = topics.group_by("topic").agg(n_documents=pl.len()).join(asked, on="topic", how="left")
    return _typed(
        TOPICS,
        table.with_columns(
            pl.col("n_queries").fill_null(0), share=pl.col("n_documents") / max(documents.height, 1)
        ).sort("n_documents", "topic", descending=[True, False]),
    )


def read_funnels(folders: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return every funnel file of the folders by its stage: the files' names, in the order of folders and names."""
    found: dict[str, pl.DataFrame] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("*.parquet")):
            if path.stem in found:
                raise ContractError(f"{path} (funnel): another folder holds stage {path.stem} too")
            found[path.stem] = FUNNEL.read(path)
    return found


def funnel_table(funnels: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return what each stage kept and dropped by reason; details after a colon are left out of the reason."""
    parts = []
    for stage, items in funnels.items():
        reason = pl.col("reason").str.split(":").list.first().str.strip_chars()
        counted = items.group_by("kept", reason=reason).agg(n=pl.len())
        parts.append(
            counted.sort("kept", "n", "reason", descending=[True, True, False]).with_columns(
                stage=pl.lit(stage),
                share=pl.col("n") / items.height,
                n_stage=pl.lit(items.height),
                n_kept=pl.lit(int(items["kept"].sum())),
            )
        )
    return _typed(FUNNEL_SUMMARY, pl.concat(parts)) if parts else FUNNEL_SUMMARY.frame([])


def query_table(queries: pl.DataFrame, eligible: pl.DataFrame) -> pl.DataFrame:
    """Return the queries of each type, and of all types first, with their documents and evidence spans."""
    wanted = eligible.filter("eligible")["doc_id"].implode()
    measured = queries.select("doc_id", "type", spans=pl.col("spans").list.len(), asked=pl.col("doc_id").is_in(wanted))
    both = pl.concat([measured.with_columns(type=pl.lit(ALL_TYPES)), measured])
    table = both.group_by("type", maintain_order=True).agg(
        n_queries=pl.len(),
        n_documents=pl.col("doc_id").n_unique(),
        mean_spans=pl.col("spans").mean(),
        multi_span_share=(pl.col("spans") > 1).mean(),
        n_eligible=pl.col("asked").sum(),
    )
    return _typed(QUERY_PROFILE, table)


def structure_row(name: str, statuses: pl.DataFrame, sections: pl.DataFrame) -> dict[str, Any]:
    """Return what became of the documents of one structure, and how large and deep it is (paper Table 9).

    Text before any heading has no heading path and does not make a document deep.
    """
    counts = dict(statuses.group_by("status").len().iter_rows())
    usable = statuses.filter(pl.col("status") != "unusable")
    depths = (
        sections.join(usable, on="doc_id", how="semi")
        .group_by("doc_id")
        .agg(depth=pl.col("path").list.len().max())["depth"]
    )
    flat = int((depths <= 1).sum())
    n_sections = int(usable["n_sections"].sum())
    return {
        "structure": name,
        "n_documents": statuses.height,
        "n_usable": usable.height,
        "n_ok": counts.get("ok", 0),
        "n_corrected": counts.get("corrected", 0),
        "n_repaired": counts.get("repaired", 0),
        "n_unusable": counts.get("unusable", 0),
        "n_sections": n_sections,
        "mean_sections": n_sections / usable.height if usable.height else None,
        "n_flat": flat,
        "flat_share": flat / usable.height if usable.height else None,
        "max_depth": int(depths.max() or 0),  # type: ignore[arg-type]
    }


def _typed(contract: Contract, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the contract's columns and types."""
    return frame.select(pl.col(column.name).cast(column.dtype) for column in contract.columns)
